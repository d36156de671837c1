"""Which orders use which part of a language: each is read once with words that notice when they are found.

A set, a mapping or a phrase finds a word by its hash and then by `==`. So an order in whose reading no word
of a part was equal to anything can't be read otherwise without it, and is not read again. What is found
otherwise than by `==` (endings, patterns, sounds, words that one set takes from another) is looked for by the
order's own words, or in every order; `tests/unit/reading/test_needed.py` holds the quick way to the slow one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from jellyfish import metaphone

from services.reading.chart.tokens import folded
from services.reading.language import language as languages
from services.reading.language.language import Language
from services.reading.names import lexicons
from services.reading.names.lexicon import Lexicon
from tests.needed.parts import Part, parts, said_in, without
from tests.readings import Order, digest

# Joined sets of `Language` lack the words of these: what is not found there may be what matters.
_SUBTRACTED = frozenset(
    "accompanying of_everything definite_articles indefinite_articles one_more some amounts numbers".split()
)
# Their words are used by what stands beside them in the entry, or letter by letter.
_BY_VALUE = frozenset("nicknames accents".split())


class Noticed(str):
    """A word that tells `seen` its part when it is equal to another."""

    part: Part
    seen: list[set[Part]]

    def __eq__(self, other: object) -> bool:
        if same := str.__eq__(self, other) is True:
            self.seen[0].add(self.part)
            if isinstance(other, Noticed):
                self.seen[0].add(other.part)
        return same

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


@dataclass
class Trace:
    """Of some orders the parts that each used, what each was read as, and what was joined with others."""

    used: list[set[Part]]
    digests: list[str]
    joined: set[Part]


def trace(code: str, orders: Iterable[Order]) -> Trace:
    """Read orders with words that notice when they are looked for."""
    seen: list[set[Part]] = [set()]

    def taken() -> set[Part]:
        now, seen[0] = seen[0], set()
        return now

    noticing = _noticing(code, seen)
    taken()
    for name, joined in vars(Language).items():
        if isinstance(joined, cached_property):
            getattr(noticing, name)
    found = Trace([], [], taken())
    of_menu: dict[int, set[Part]] = {}
    with read_with(noticing):
        for order in orders:
            shop = id(order.shop)
            if shop not in of_menu:
                # What a menu's names need, all of its orders do.
                Lexicon(order.shop.menu)
                of_menu[shop] = taken()
            found.digests.append(digest(order.said, order.shop))
            found.used.append(taken() | of_menu[shop])
    return found


class Uses:
    """The orders of one language, and which of them each part may matter to."""

    def __init__(self, code: str, orders: list[Order], traced: Trace) -> None:
        # The whole language: whoever asks may be reading without a part of it.
        self.orders, self._code, self._language = orders, code, languages.language(code)
        self._parts = list(parts(code))
        self._joined = traced.joined
        self._by_part: dict[Part, set[int]] = {}
        self._by_key: dict[Any, set[int]] = {}
        for index, used in enumerate(traced.used):
            for part in used:
                self._by_part.setdefault(part, set()).add(index)
                self._by_key.setdefault(part.key, set()).add(index)

    def of(self, part: Part) -> list[Order]:
        """The orders that may be read otherwise without a part: first those that say it, to be done sooner;
        last sentences, since it is told when they alone need it."""
        if part.key is None:
            own = [one for one in self._parts if one.entry == part.entry and one.key is not None]
            found = set().union(*map(self._candidates, own)) if own else set(range(len(self.orders)))
        else:
            found = self._candidates(part)
        by_shop: dict[int, list[Order]] = {}
        for index in sorted(found):
            by_shop.setdefault(id(self.orders[index].shop), []).append(self.orders[index])
        among = [one for orders in sorted(by_shop.values(), key=len, reverse=True) for one in orders]
        return sorted(among, key=lambda o: (o.name.startswith("sentence"), not said_in(part, o.said)))

    def parts_of(self, order: Order, among: Iterable[Part]) -> list[Part]:
        """Those of some parts that may matter to an order."""
        at = next(i for i, one in enumerate(self.orders) if one is order)
        return [part for part in among if at in self._candidates(part)]

    def without(self, gone: Iterable[Part]) -> AbstractContextManager[None]:
        """Within it every order is read with a language that lacks some parts."""
        return read_with(without(self._code, gone))

    def _candidates(self, part: Part) -> set[int]:
        word = part.key if isinstance(part.key, str) else ""
        value = getattr(self._language, part.entry)
        if isinstance(value, re.Pattern) or not part.key or _is_ordered(value) or part.entry in _BY_VALUE:
            return set(range(len(self.orders)))
        found = set(self._by_part.get(part, ()))
        if part in self._joined:
            # Of two sets with one word the joined one keeps either's.
            found |= self._by_key.get(word, set())
            if part.entry in _SUBTRACTED:
                found |= self._by_word.get(word, set())
        if part.entry == "fillers" and len(word) > 3:
            found |= self._by_sound.get(metaphone(word), set())
        return found

    @cached_property
    def _by_word(self) -> dict[str, set[int]]:
        return self._indexed(lambda words: words)

    @cached_property
    def _by_sound(self) -> dict[str, set[int]]:
        return self._indexed(lambda words: {metaphone(word) for word in words})

    def _indexed(self, keys: Any) -> dict[str, set[int]]:
        """Orders by the words that they or their menus hold, as they are written and as they are folded."""
        language = self._language
        found: dict[str, set[int]] = {}
        of_menu: dict[int, set[str]] = {}
        for index, order in enumerate(self.orders):
            shop = id(order.shop)
            if shop not in of_menu:
                of_menu[shop] = keys(_words(" ".join(_names(order)), language))
            for key in keys(_words(order.said, language)) | of_menu[shop]:
                found.setdefault(key, set()).add(index)
        return found


def _noticing(code: str, seen: list[set[Part]]) -> Language:
    """A language all of whose words tell `seen` when they are found."""

    def word(text: str, part: Part) -> Noticed:
        noticed = Noticed(text)
        noticed.part, noticed.seen = part, seen
        return noticed

    def key(name: str, one: Any) -> Any:
        part = Part(name, one)
        return tuple(word(text, part) for text in one) if isinstance(one, tuple) else word(one, part)

    full = languages.language(code)
    fields = {field: getattr(full, field) for field in Language.model_fields}
    for name, value in fields.items():
        if isinstance(value, str | re.Pattern) or _is_ordered(value):
            continue
        if isinstance(value, Mapping):
            fields[name] = {key(name, one): held for one, held in value.items()}
        else:
            fields[name] = type(value)(key(name, one) for one in value)
    return Language.model_construct(**fields)


@contextmanager
def read_with(language: Language) -> Iterator[None]:
    """Within it every order is read with this language."""
    known = languages.language
    lexicons._LEXICONS.clear()
    languages.language = lambda code: language  # type: ignore[assignment]
    try:
        yield
    finally:
        languages.language = known
        lexicons._LEXICONS.clear()


def _is_ordered(value: Any) -> bool:
    """Whether an entry is of endings or rules, which are tried one by one."""
    return isinstance(value, tuple) and bool(value) and not isinstance(value[0], tuple)


def _names(order: Order) -> Iterator[str]:
    menu = order.shop.menu
    for item in menu.items:
        yield from (item.name, *item.aliases, item.category)
    for size in menu.sizes:
        yield from (size.name, *size.aliases)
    for group in menu.option_groups:
        yield group.name
        for option in group.options:
            yield from (option.name, *option.aliases)


def _words(text: str, language: Language) -> set[str]:
    written = re.findall(r"[\w%&]+", text.casefold().replace("'", "").replace("’", ""))
    return {*written, *folded(text, language)}
