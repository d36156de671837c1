"""How the things of one menu are written in a cart, and which options an item comes with.

Names are the menu's own; an option that two groups of one item both call alike is written with its group:
`cheese (toppings)`. The reader was trained with these spellings.

An option inside an option is written by its name alone, in the same list; a name that stands for several is
read as one that has no place yet (`schemas/menus/nesting.py`).
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace

from schemas.menu import Item, Menu
from schemas.menus.nesting import source, unplaced
from schemas.writable import writable

_MARKS = re.compile(r"\s*[;|+]\s*")


class Unreadable(ValueError):
    """A text is not a cart of this menu; says which part of it is not."""


@dataclass(frozen=True, slots=True)
class OptionName:
    """An option as it is written for one item."""

    group: str
    id: str
    name: str


@dataclass(slots=True)
class Names:
    """The names of one menu: of items by sku, of sizes by id."""

    menu: Menu
    items: dict[str, str] = field(init=False)
    sizes: dict[str, str] = field(init=False)
    _choices: dict[tuple[str, ...], tuple[OptionName, ...]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.items = {item.sku: _plain(item.name) for item in self.menu.items}
        self.sizes = {size.id: _plain(size.name) for size in self.menu.sizes}

    def choices(self, item: Item) -> tuple[OptionName, ...]:
        """Return the options that an item comes with, in the menu's order."""
        if item.option_groups not in self._choices:
            groups = self.menu.nested_groups(item.option_groups)
            bare = [(g, o, _plain(o.name)) for g in groups for o in g.options]
            times = Counter(name for name, *_ in {(n.casefold(), source(g.id), o.id) for g, o, n in bare})
            self._choices[item.option_groups] = tuple(
                OptionName(g.id, o.id, name if times[name.casefold()] == 1 else f"{name} ({_plain(g.name)})")
                for g, o, name in bare
            )
        return self._choices[item.option_groups]

    def readable(self, item: Item) -> tuple[OptionName, ...]:
        """Return what each option's name stands for on an item: an option, or one without a place yet."""
        choices = self.choices(item)
        times = Counter(choice.name for choice in choices)
        return tuple(c if times[c.name] == 1 else replace(c, group=unplaced(c.group)) for c in choices)


def _plain(name: str) -> str:
    """Return a name without `;`, `|` and `+`, which the reader never saw in one."""
    return _MARKS.sub(" ", writable(name)).strip()
