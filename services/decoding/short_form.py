"""A cart in one line of plain words: `2 large | latte + oat milk + no foam; 1 blueberry muffin; 1 ?`.

The learned reader writes this, and people who write orders for it do: about twelve tokens a line where the
cart as JSON takes fifty. It holds a draft without `heard`: number, size, name, options with amount and count.
`?` is a wish off the menu, `nothing` a cart without lines. Names are the menu's own; an option that two
groups of one item both call alike is written with its group: `cheese (toppings)`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeVar

from schemas.cart import Amount
from schemas.menu import Item, Menu
from schemas.writable import writable

NOTHING = "nothing"
OFF_MENU = "?"
MOST_NAMES = 60  # that an error tells
AMOUNTS = {
    Amount.NONE.value: "no ",
    Amount.LIGHT.value: "light ",
    Amount.EXTRA.value: "extra ",
    Amount.NORMAL.value: "",
}
_NUMBER = re.compile(r"(?:^|;)\s*\d+")
_MARKS = re.compile(r"\s*[;|+]\s*")
_COUNT = re.compile(r"(.*\S) x(\d+)$")

Line = dict[str, Any]
Key = TypeVar("Key")


class Unreadable(ValueError):
    """A text is no cart of this menu; says which part of it is not."""


@dataclass(frozen=True, slots=True)
class Choice:
    """An option as it is written beside one item."""

    group: str
    id: str
    name: str


@dataclass(slots=True)
class Names:
    """How one menu's things are written, both ways."""

    menu: Menu
    items: dict[str, str] = field(init=False)
    sizes: dict[str, str] = field(init=False)
    _choices: dict[tuple[str, ...], tuple[Choice, ...]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.items = {item.sku: _plain(item.name) for item in self.menu.items}
        self.sizes = {size.id: _plain(size.name) for size in self.menu.sizes}

    def choices(self, item: Item) -> tuple[Choice, ...]:
        """The options that an item comes with, in the menu's order."""
        if item.option_groups not in self._choices:
            groups = [g for g in self.menu.option_groups if g.id in item.option_groups]
            bare = [(g, o, _plain(o.name)) for g in groups for o in g.options]
            times = Counter(name.casefold() for _, _, name in bare)
            self._choices[item.option_groups] = tuple(
                Choice(g.id, o.id, name if times[name.casefold()] == 1 else f"{name} ({_plain(g.name)})")
                for g, o, name in bare
            )
        return self._choices[item.option_groups]

    def write(self, lines: Iterable[Line]) -> str:
        """Lines of a draft, or of a gold cart, as a short form; a wish off the menu has no sku."""
        return "; ".join(map(self._write, lines)) or NOTHING

    def _write(self, line: Line) -> str:
        number = line.get("quantity", 1)
        item = self.menu.item(line["sku"]) if line.get("sku") else None
        if item is None:
            return f"{number} {OFF_MENU}"
        size = f"{self.sizes[line['size']]} | " if line.get("size") else ""
        names = {(c.group, c.id): c.name for c in self.choices(item)}
        parts = [f"{number} {size}{self.items[item.sku]}"]
        for option in line.get("options") or ():
            count = f" x{option['count']}" if option.get("count", 1) > 1 else ""
            parts.append(
                AMOUNTS[option.get("amount", "normal")] + names[option["group"], option["id"]] + count
            )
        return " + ".join(parts)

    def read(self, text: str) -> list[Line]:
        """The lines that a short form stands for; letters' case does not matter.

        Raises:
            Unreadable: a number is missing, or a name is not one of the menu or not one of its item.
        """
        text = text.strip()
        if text.casefold() == NOTHING:
            return []
        return [self._read(part.strip()) for part in text.split(";")]

    def _read(self, part: str) -> Line:
        number, _, rest = part.partition(" ")
        if not number.isdigit() or not int(number):
            raise Unreadable(f"{part!r} does not begin with a number")
        if rest.strip() == OFF_MENU:
            return {"kind": "not_on_menu", "quantity": int(number)}
        named, *options = (piece.strip() for piece in rest.split(" + "))
        size, bar, name = named.rpartition("|")
        sku = _one(name.strip(), self.items.items(), "item")
        item = self.menu.item(sku)
        assert item is not None
        offered = [(i, n) for i, n in self.sizes.items() if i in item.size_ids]
        return {
            "kind": "item",
            "sku": sku,
            "quantity": int(number),
            "size": _one(size.strip(), offered, f"size of {name.strip()}") if bar else None,
            "options": [self._option(text, item) for text in options],
        }

    def _option(self, text: str, item: Item) -> Line:
        counted = _COUNT.match(text)
        text, count = (counted[1], int(counted[2])) if counted else (text, 1)
        names = [((c.group, c.id), c.name) for c in self.choices(item)]
        # The whole as a name comes first: "extra hot" may be one.
        for amount in (Amount.NORMAL, Amount.NONE, Amount.LIGHT, Amount.EXTRA):
            word = AMOUNTS[amount.value]
            if text.casefold().startswith(word) and (key := _found(text[len(word) :].strip(), names)):
                return {"group": key[0], "id": key[1], "amount": amount.value, "count": count}
        raise _unknown(text, names, f"option of {self.items[item.sku]}")


def pieces(text: str) -> dict[tuple[int, int], str]:
    """What a short form says, piece by piece, under its span (begin, end) with the mark before it: of
    "2 large | latte + oat milk" that is "2", "large", "latte" and "oat milk"."""
    marks = (found.start() for found in _MARKS.finditer(text))
    numbers = (found.end() for found in _NUMBER.finditer(text))
    cuts = sorted({0, len(text), *marks, *numbers})
    return {(begin, end): text[begin:end].strip(" ;|+") for begin, end in pairwise(cuts)}


def _plain(name: str) -> str:
    """A name without the marks that part a short form."""
    return _MARKS.sub(" ", writable(name)).strip()


def _one(name: str, known: Iterable[tuple[Key, str]], what: str) -> Key:
    known = list(known)
    key = _found(name, known)
    if key is None:
        raise _unknown(name, known, what)
    return key


def _found(name: str, known: Iterable[tuple[Key, str]]) -> Key | None:
    return next((key for key, called in known if called.casefold() == name.casefold()), None)


def _unknown(name: str, known: Iterable[tuple[Any, str]], what: str) -> Unreadable:
    names = [called for _, called in known]
    there = ", ".join(names[:MOST_NAMES]) + (" and more" if len(names) > MOST_NAMES else "")
    return Unreadable(f"no {what} is called {name!r}; there are: {there}")
