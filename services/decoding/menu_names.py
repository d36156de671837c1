"""The names of a menu's items, sizes and options in the wire format, and which options an item has.

Names are the menu's own. If two groups of an item have an option of the same name, it is written with its
group: `cheese (toppings)`. The adapter was trained with these spellings.

An option inside another option is written by its name only, in the same list. A name that fits several places
is read as an option whose place is still open (`schemas/menus/nesting.py`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from schemas.menu import Item, Menu
from schemas.menus.nesting import source, unplaced
from schemas.writable import writable

Shape = tuple[tuple[str, ...], tuple[str, ...]]
"""Ids of an item's sizes and of its option groups."""
_SEPARATORS = re.compile(r"\s*[;|+]\s*")


class Unreadable(ValueError):
    """A text that is not a cart of this menu; the message names the offending part."""


@dataclass(frozen=True, slots=True)
class OptionName:
    """An option, and its name for one item."""

    group: str
    id: str
    name: str


class Names:
    """A menu's names: of items by SKU, of sizes by id."""

    def __init__(self, menu: Menu) -> None:
        self.menu = menu
        self.items = {item.sku: _plain(item.name) for item in menu.items}
        self.sizes = {size.id: _plain(size.name) for size in menu.sizes}
        self._choices: dict[tuple[str, ...], tuple[OptionName, ...]] = {}

    def choices(self, item: Item) -> tuple[OptionName, ...]:
        """Return an item's options in menu order."""
        if item.option_groups not in self._choices:
            groups = self.menu.nested_groups(item.option_groups)
            options = [(g, o, _plain(o.name)) for g in groups for o in g.options]
            distinct = {(name.casefold(), source(group.id), option.id) for group, option, name in options}
            counts = Counter(name for name, *_ in distinct)
            self._choices[item.option_groups] = tuple(
                OptionName(g.id, o.id, name if counts[name.casefold()] == 1 else f"{name} ({_plain(g.name)})")
                for g, o, name in options
            )
        return self._choices[item.option_groups]

    def readable(self, item: Item) -> tuple[OptionName, ...]:
        """Return an item's options as they are read back: an ambiguous name has no place yet."""
        choices = self.choices(item)
        counts = Counter(choice.name for choice in choices)
        return tuple(c if counts[c.name] == 1 else replace(c, group=unplaced(c.group)) for c in choices)


def by_shape(items: Iterable[Item]) -> dict[Shape, list[Item]]:
    """Group items by their sizes and option groups."""
    shapes: dict[Shape, list[Item]] = {}
    for item in items:
        shapes.setdefault((item.size_ids, item.option_groups), []).append(item)
    return shapes


def _plain(name: str) -> str:
    """Return a name without `;`, `|` and `+`, which no name in the training data has."""
    return _SEPARATORS.sub(" ", writable(name)).strip()
