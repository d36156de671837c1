"""Which orders use which rule: each is read once while it is noted which rules come to something.

An order in whose reading a rule came to nothing wherever it was asked is not read otherwise without it, and
is not read again; nor is one of a menu whose names were put on the board without it. Where a result does not
tell (a function that changes something, or returns what it was given) the rule is taken to come to something;
`tests/unit/reading/test_needed_rules.py` holds the quick way to the slow one.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from inspect import isgeneratorfunction
from types import FunctionType
from typing import Any

from services.reading.names import lexicons
from tests.needed.rules import NOTED, Body, Rule, read_without, rules
from tests.readings import Order, digest

Idle = list[tuple[int, Callable[[Any], bool]]]


@dataclass
class Trace:
    """Of some orders the rules that came to something in each, as bits; of their menus, of all together; and
    what each order was read as."""

    fired: list[int]
    menus: int
    digests: list[str]


def trace(orders: Iterable[Order]) -> Trace:
    """Read orders, and note which rules come to something."""
    seen: set[int] = set()

    def bits() -> int:
        found = sum(1 << index for index in seen)
        seen.clear()
        return found

    found, of_menu = Trace([], 0, []), dict[int, int]()
    lexicons._LEXICONS.clear()
    with _noting(seen):
        for order in orders:
            shop = id(order.shop)
            if shop not in of_menu:
                # What a menu's names need, all of its orders do.
                lexicons.lexicon(order.shop.menu)
                of_menu[shop] = bits()
                found.menus |= of_menu[shop]
            found.digests.append(digest(order.said, order.shop))
            found.fired.append(bits() | of_menu[shop])
    return found


@contextmanager
def _noting(seen: set[int]) -> Iterator[None]:
    """Within it the rules that come to something are put into `seen`, by their place among all."""
    by_function: dict[str, tuple[Body, Idle]] = {}
    for index, (rule, body) in enumerate(rules().items()):
        _, idle = by_function.setdefault(rule.entry + rule.name, (body, []))
        idle.append((index, body.idle))
    noted = {name: _noted(body.function, idle, seen) for name, (body, idle) in by_function.items()}
    try:
        for body, _ in by_function.values():
            body.function.__globals__[NOTED] = noted
            body.function.__code__ = body.noted
        yield
    finally:
        for body, _ in by_function.values():
            body.function.__code__ = body.full


def _noted(function: FunctionType, asked: Idle, seen: set[int]) -> Callable[..., Any]:
    """A function as it is, that notes where it comes to something; an error is something too."""
    full = FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__)
    full.__kwdefaults__ = function.__kwdefaults__

    def note(result: Any) -> None:
        for index, idle in asked:
            if index not in seen and not idle(result):
                seen.add(index)

    def called(*args: Any, **named: Any) -> Any:
        try:
            result = full(*args, **named)
        except BaseException:
            seen.update(index for index, _ in asked)
            raise
        note(result)
        return result

    def walked(*args: Any, **named: Any) -> Generator[Any, Any, Any]:
        steps = full(*args, **named)
        while True:
            try:
                step = next(steps)
            except StopIteration as end:
                note(end.value)
                return end.value
            except BaseException:
                seen.update(index for index, _ in asked)
                raise
            seen.update(index for index, _ in asked)
            yield step

    return walked if isgeneratorfunction(full) else called


class Fires:
    """Orders, and which rules came to something in each."""

    def __init__(self, orders: list[Order], fired: list[int], menus: int) -> None:
        self.orders, self._fired, self._menus = orders, fired, menus
        self._bits = {rule: 1 << index for index, rule in enumerate(rules())}

    def of(self, rule: Rule) -> list[Order]:
        """The orders that may be read otherwise without a rule: first sentences, of which most were written
        for one; then those of one menu together."""
        bit = self._bits[rule]
        found = (order for order, fired in zip(self.orders, self._fired, strict=True) if fired & bit)
        by_shop: dict[tuple[bool, int], list[Order]] = {}
        for order in found:
            by_shop.setdefault((not order.name.startswith("sentence"), id(order.shop)), []).append(order)
        menus = sorted(by_shop.items(), key=lambda menu: (menu[0][0], len(menu[1])))
        return [order for _, among in menus for order in among]

    def parts_of(self, order: Order, among: Iterable[Rule]) -> list[Rule]:
        """Those of some rules that may matter to an order."""
        at = next(i for i, one in enumerate(self.orders) if one is order)
        return [rule for rule in among if self._fired[at] & self._bits[rule]]

    def without(self, gone: Iterable[Rule]) -> AbstractContextManager[None]:
        """Within it every order is read without some rules."""
        asked = list(gone)
        return read_without(asked, menus=any(self._menus & self._bits[rule] for rule in asked))
