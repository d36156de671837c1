"""The reader's mask: every short form of a menu and nothing else, as an llguidance grammar.

It is of the whole menu, so one grammar serves every order of a menu version. Its bounds and amounts are read
off the tree of `CartDraft` (`services/decoding/spelling.py`), as those of cart JSON are. A field that the
short form can't spell is refused, so that it can't be decoded without a word; but for those marked `x-later`,
which the reader that ships does not write yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from schemas.menu import Menu
from services.decoding.mask import Mask
from services.decoding.short_form import AMOUNTS, NOTHING, OFF_MENU, Names
from services.decoding.spelling import (
    CART,
    Array,
    Choice,
    Integer,
    Node,
    Object,
    Union,
    integers,
    schema_version,
)

_SPELLED = {"lines", "sku", "quantity", "size", "options", "id", "amount", "count", "heard"}


@dataclass(frozen=True, slots=True)
class Bounds:
    """What the Pydantic source allows of a cart."""

    lines: int
    options: int
    quantity: Integer
    count: Integer
    amounts: tuple[str, ...]


def bounds_of(cart: Object) -> Bounds:
    """The bounds of a draft's tree.

    Raises:
        TypeError: it has a field that the short form has no place for.
    """
    nodes: dict[str, Node] = {}
    for name, node in _nodes(cart):
        nodes.setdefault(name, node)  # an item's come first
    if unknown := nodes.keys() - _SPELLED:
        raise TypeError(f"The short form has no place for {', '.join(sorted(unknown))}")
    lines, options = nodes["lines"], nodes["options"]
    quantity, count, amounts = nodes["quantity"], nodes["count"], nodes["amount"]
    assert isinstance(lines, Array)
    assert isinstance(options, Array)
    assert isinstance(quantity, Integer)
    assert isinstance(count, Integer)
    assert isinstance(amounts, Choice)
    return Bounds(lines.most, options.most, quantity, Integer(2, count.most), amounts.values)


def _nodes(node: Node) -> Iterator[tuple[str, Node]]:
    """All fields under a node, by name."""
    match node:
        case Array(each):
            yield from _nodes(each)
        case Union(objects):
            for one in objects:
                yield from _nodes(one)
        case Object(fields=fields):
            for field in fields:
                if not field.later:
                    yield field.name, field.node
                    yield from _nodes(field.node)


def short_mask(menu: Menu, names: Names, cart: Object = CART) -> Mask:
    """The mask of one menu version, for drafts of the shape `cart`.

    All of it is one terminal: a lexer would take the longest name that may come, so that after "Espresso" a
    menu with an "Espresso Macchiato" would have no way to " + ".
    """
    shapes: dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for item in menu.items:
        shapes.setdefault((item.size_ids, item.option_groups), []).append(names.items[item.sku])
    offered = {item.option_groups: names.choices(item) for item in menu.items}
    numbered = {groups: index for index, groups in enumerate(offered)}
    rules, kinds = [], []
    for index, ((sizes, groups), called) in enumerate(shapes.items()):
        sized = f"({either(names.sizes[s] + ' | ' for s in sizes)})? " if sizes else ""
        options = f" OPTIONS{numbered[groups]}" if offered[groups] else ""
        rules.append(f"ITEM{index}: {sized}({either(called)}){options}")
        kinds.append(f"ITEM{index}")
    bounds = bounds_of(cart)
    amount = either(AMOUNTS[amount] for amount in bounds.amounts)
    for groups, choices in offered.items():
        if choices:
            named = either(choice.name for choice in choices)
            option = f'" + " ({amount})? ({named}) (" x" COUNT)?'
            rules.append(f"OPTIONS{numbered[groups]}: ({option}){{0,{bounds.options}}}")
    head = [
        "%llguidance {}",
        "start: CART",
        f'CART: "{NOTHING}" | LINE ("; " LINE){{0,{bounds.lines - 1}}}',
        f'LINE: NUMBER " " ("{OFF_MENU}" | {" | ".join(kinds)})',
        f"NUMBER: {integers(bounds.quantity)}",
        f"COUNT: {integers(bounds.count)}",
    ]
    longest = _longest(menu, names, bounds)
    return Mask("\n".join([*head, *rules]) + "\n", f"short form/{schema_version()}", longest)


def _longest(menu: Menu, names: Names, bounds: Bounds) -> int:
    """The size in bytes of the longest text that the mask allows."""

    def size(texts: Iterable[str]) -> int:
        return max((len(text.encode()) for text in texts), default=0)

    amount = size(AMOUNTS.values())
    lines = [0]
    for item in menu.items:
        option = size(choice.name for choice in names.choices(item))
        options = bounds.options * (option + amount + len(f" +  x{bounds.count.most}")) if option else 0
        sized = size(names.sizes[one] for one in item.size_ids)
        head = len(f"{bounds.quantity.most} ; ") + (sized + len(" | ") if sized else 0)
        lines.append(head + len(names.items[item.sku].encode()) + options)
    return max(len(NOTHING), bounds.lines * max(lines))


def either(texts: Iterable[str]) -> str:
    """One of these, as a grammar writes it."""
    return " | ".join(f'"{_quoted(text)}"' for text in texts)


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
