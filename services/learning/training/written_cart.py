"""Parse carts as orders files write them: `2 large | latte + oat milk + no foam; 1 blueberry muffin; 1 ?`.

A line has a quantity, size, name, and options with amount (`no`, `light`, `extra`) and count (`x2`). `?` is
an off-menu request, optionally with its words; `nothing` is an empty cart. Names are the menu's own; an
option whose name is in two groups of the item is followed by its group: `cheese (toppings)`. An option of a
group with `halves` may start with `left` or `right`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, TypeVar

from schemas.cart import Amount, ItemLine, Line, OptionDraft, OptionLine, Portion
from schemas.menu import Item
from services.decoding.menu_names import Names, Unreadable
from services.validation.portions import placed_line

Key = TypeVar("Key")

NOTHING = "nothing"
OFF_MENU = "?"
# The bare name comes first: "extra hot" may be one.
_AMOUNTS = {Amount.NORMAL: "", Amount.NONE: "no ", Amount.LIGHT: "light ", Amount.EXTRA: "extra "}
_OFF_MENU_LINE = re.compile(rf"(\d+) \{OFF_MENU}(?:\s+(\S.*))?")
_COUNT = re.compile(r"(.*\S) x(\d+)$")


def read_written(text: str, names: Names) -> list[Line]:
    """Return the lines of a written cart; case doesn't matter.

    Raises:
        Unreadable: a quantity is missing, or the menu or the item doesn't have a name.
    """
    text = text.strip()
    return [] if text.casefold() == NOTHING else [_line(part.strip(), names) for part in text.split(";")]


def _line(part: str, names: Names) -> Line:
    number, _, rest = part.partition(" ")
    if not number.isdigit() or not int(number):
        raise Unreadable(f"{part!r} does not begin with a number")
    if match := _OFF_MENU_LINE.fullmatch(part):
        line: Line = {"kind": "not_on_menu", "quantity": int(number)}
        return {**line, "heard": match[2]} if match[2] else line
    named, *options = (piece.strip() for piece in rest.split(" + "))
    size, bar, name = named.rpartition("|")
    sku = _key_of(name.strip(), names.items.items(), "item")
    item = names.menu.item(sku)
    assert item is not None
    offered = [(i, n) for i, n in names.sizes.items() if i in item.size_ids]
    return {
        "kind": "item",
        "sku": sku,
        "quantity": int(number),
        "size": _key_of(size.strip(), offered, f"size of {name.strip()}") if bar else None,
        "options": in_place([_option(text, item, names) for text in options], item, names),
    }


def in_place(options: list[OptionLine], item: Item, names: Names) -> list[OptionLine]:
    """Return an item's options, with nested ones placed in the option that contains them."""
    chosen = tuple(map(OptionDraft.model_validate, options))
    line = ItemLine(kind="item", heard=item.name, sku=item.sku, quantity=1, options=chosen)
    groups = (option.group for option in placed_line(line, item, names.menu).options)
    return [{**option, "group": group} for option, group in zip(options, groups, strict=True)]


def _option(text: str, item: Item, names: Names) -> OptionLine:
    try:
        return _whole_option(text, item, names)  # first: "left wing" may be a name
    except Unreadable:
        portion, _, rest = text.partition(" ")
        if portion.casefold() not in (Portion.LEFT, Portion.RIGHT):
            raise
    option = _whole_option(rest.strip(), item, names)
    group = names.menu.group(option["group"])
    if group is None or not group.halves:
        raise Unreadable(f"{text!r}: {rest.strip()!r} is in a group without `halves`")
    return {**option, "portion": portion.casefold()}


def _whole_option(text: str, item: Item, names: Names) -> OptionLine:
    match = _COUNT.match(text)
    text, count = (match[1], int(match[2])) if match else (text, 1)
    offered = [((c.group, c.id), c.name) for c in names.readable(item)]
    for amount, word in _AMOUNTS.items():
        if text.casefold().startswith(word) and (key := _find(text[len(word) :].strip(), offered)):
            return {"group": key[0], "id": key[1], "amount": amount.value, "count": count}
    raise _unknown(text, offered, f"option of {names.items[item.sku]}")


def _key_of(name: str, offered: Iterable[tuple[Key, str]], what: str) -> Key:
    offered = list(offered)
    key = _find(name, offered)
    if key is None:
        raise _unknown(name, offered, what)
    return key


def _find(name: str, offered: Iterable[tuple[Key, str]]) -> Key | None:
    return next((key for key, known in offered if known.casefold() == name.casefold()), None)


def _unknown(name: str, offered: Iterable[tuple[Any, str]], what: str) -> Unreadable:
    choices = ", ".join(known for _, known in offered)
    return Unreadable(f"no {what} is called {name!r}; there are: {choices}")
