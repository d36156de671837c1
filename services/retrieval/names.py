"""An index of the names and aliases of a menu's items, options and sizes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from threading import Lock
from typing import Literal

import jellyfish
from cachetools import LRUCache, cached

from schemas.menu import Item, Menu, Option, Size
from services.retrieval.words import english, stems

NUMBER = "number"
Kind = Literal["item", "option", "size"]
Stems = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Name:
    """An item, option or size, with its printed name. `id` is its SKU or id; `group` is an option's group."""

    kind: Kind
    id: str
    text: str
    group: str | None = None


@dataclass(slots=True)
class MenuNames:
    """The names of a menu version. Building it takes 3 ms for 60 items, half a second for 10,000."""

    menu: Menu
    whole: dict[Stems, list[Name]] = field(init=False, default_factory=lambda: defaultdict(list))
    """Names by the stems of their printed name or an alias."""
    containing: dict[str, list[Stems]] = field(init=False, default_factory=lambda: defaultdict(list))
    """The names (as stems) that contain a word."""
    numbered: set[Stems] = field(init=False, default_factory=set)
    """Stems of items' numbers: "number three"."""
    longest: int = field(init=False, default=1)
    spellings: list[tuple[str, str, Stems]] = field(init=False, default_factory=list)
    """(letters, sound, stems) of each name, to find misheard ones."""

    def __post_init__(self) -> None:
        for name, part, _ in self.parts():
            for text in (part.name, *part.aliases):
                key = stems(text)
                if key and name not in self.whole[key]:
                    self.whole[key].append(name)
        for key in self.whole:
            self.longest = max(self.longest, len(key))
            letters = "".join(key)
            self.spellings.append((letters, jellyfish.metaphone(letters), key))
            for word in dict.fromkeys(key):
                self.containing[word].append(key)
        self._add_numbers()

    def _add_numbers(self) -> None:
        """Index the items' numbers; they match in full only."""
        for item in self.menu.items:
            for words in _spoken(item.number) if item.number else ():
                key = (NUMBER, *words)
                self.whole[key].append(Name("item", item.sku, item.name))
                self.numbered.add(key)
                self.longest = max(self.longest, len(key))

    def parts(self) -> Iterable[tuple[Name, Item | Option | Size, str]]:
        """Yield each part with a name, and the JSON pointer to the name in the menu document."""
        for s, size in enumerate(self.menu.sizes):
            yield Name("size", size.id, size.name), size, f"/sizes/{s}/name"
        for i, item in enumerate(self.menu.items):
            yield Name("item", item.sku, item.name), item, f"/items/{i}/name"
        for g, group in enumerate(self.menu.option_groups):
            for o, option in enumerate(group.options):
                place = f"/option_groups/{g}/options/{o}/name"
                yield Name("option", option.id, option.name, group.id), option, place


def _spoken(number: int) -> Iterable[Stems]:
    """Yield a number's spellings: digits, "twenty" "one", and the word, as in "two number threes"."""
    yield (str(number),)
    if 20 < number < 100 and number % 10:
        yield str(number - number % 10), str(number % 10)
    yield from ((word,) for word, value in english().numbers.items() if value == number)


# By identity, since comparing menus is slow. An entry holds its menu, so the id is not reused.
@cached(LRUCache(64), key=id, lock=Lock())
def names_of(menu: Menu) -> MenuNames:
    """Return a menu's names; 64 are cached."""
    return MenuNames(menu)
