"""A cart as people write it in orders files: `2 large | latte + oat milk + no foam; 1 blueberry muffin; 1 ?`.

Number, size, name, options with their amount (`no`, `light`, `extra`) and count (`x2`). `?` is a wish off the
menu, perhaps with its words behind it; `nothing` a cart without lines. Names are the menu's own; an option
that two groups of one item both call alike is written with its group: `cheese (toppings)`. An option of a
group with `halves` may begin with `left` or `right`.
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
_WISH = re.compile(rf"(\d+) \{OFF_MENU}(?:\s+(\S.*))?")
_COUNT = re.compile(r"(.*\S) x(\d+)$")


def read_written(text: str, names: Names) -> list[Line]:
    """The lines that a written cart stands for; letters' case does not matter.

    Raises:
        Unreadable: a number is missing, or a name is not one of the menu or not one of its item.
    """
    text = text.strip()
    return [] if text.casefold() == NOTHING else [_line(part.strip(), names) for part in text.split(";")]


def _line(part: str, names: Names) -> Line:
    number, _, rest = part.partition(" ")
    if not number.isdigit() or not int(number):
        raise Unreadable(f"{part!r} does not begin with a number")
    if wish := _WISH.fullmatch(part):
        line: Line = {"kind": "not_on_menu", "quantity": int(number)}
        return {**line, "heard": wish[2]} if wish[2] else line
    named, *options = (piece.strip() for piece in rest.split(" + "))
    size, bar, name = named.rpartition("|")
    sku = _one(name.strip(), names.items.items(), "item")
    item = names.menu.item(sku)
    assert item is not None
    offered = [(i, n) for i, n in names.sizes.items() if i in item.size_ids]
    return {
        "kind": "item",
        "sku": sku,
        "quantity": int(number),
        "size": _one(size.strip(), offered, f"size of {name.strip()}") if bar else None,
        "options": in_place([_option(text, item, names) for text in options], item, names),
    }


def in_place(options: list[OptionLine], item: Item, names: Names) -> list[OptionLine]:
    """Return an item's options, those inside another with the one that each is under."""
    chosen = tuple(map(OptionDraft.model_validate, options))
    line = ItemLine(kind="item", heard=item.name, sku=item.sku, quantity=1, options=chosen)
    groups = (option.group for option in placed_line(line, item, names.menu).options)
    return [{**option, "group": group} for option, group in zip(options, groups, strict=True)]


def _option(text: str, item: Item, names: Names) -> OptionLine:
    try:
        return _whole_option(text, item, names)  # a whole name comes first: "left wing" may be one
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
    counted = _COUNT.match(text)
    text, count = (counted[1], int(counted[2])) if counted else (text, 1)
    known = [((c.group, c.id), c.name) for c in names.readable(item)]
    for amount, word in _AMOUNTS.items():
        if text.casefold().startswith(word) and (key := _found(text[len(word) :].strip(), known)):
            return {"group": key[0], "id": key[1], "amount": amount.value, "count": count}
    raise _unknown(text, known, f"option of {names.items[item.sku]}")


def _one(name: str, known: Iterable[tuple[Key, str]], what: str) -> Key:
    known = list(known)
    key = _found(name, known)
    if key is None:
        raise _unknown(name, known, what)
    return key


def _found(name: str, known: Iterable[tuple[Key, str]]) -> Key | None:
    return next((key for key, called in known if called.casefold() == name.casefold()), None)


def _unknown(name: str, known: Iterable[tuple[Any, str]], what: str) -> Unreadable:
    there = ", ".join(called for _, called in known)
    return Unreadable(f"no {what} is called {name!r}; there are: {there}")
