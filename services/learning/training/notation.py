"""Menus and orders as their writers write them: one line a thing, checked against each other.

    pytest tests/unit/evaluation/test_training_data.py     # reads all of tests/told, and names what it can't

A menu (`NAME.menu`): sizes, groups of options and items, `=` before other names of the same thing, money in
minor units.

    name: Curry Leaf
    currency: GBP
    language: en
    size L: large = family
    group spice one: mild; medium; extra hot = vindaloo hot 50
    group sides many required: raita 120; naan = naan bread 250
    item Chicken Tikka Masala = CTM: 895 [spice, sides]
    item Cola: S 150, L 210

Orders (`NAME.orders`): what it is an example of, what is said, and the cart on one line (`written_cart.py`).

    [plain] two ctms, one medium one hot, and a large coke => 1 Chicken Tikka Masala + medium; ...

What the kitchen must know beyond the cart follows behind ` // `, as `KIND: the customer's own words`, of kind
`allergy`, `diet`, `preparation` or `other`:

    [allergy] a mango lassi, I'm allergic to nuts => 1 Mango Lassi // allergy: I'm allergic to nuts

An option of a group with `halves` may be wanted on one half only, and a wish off the menu may have its words
behind it, an exact piece of what was said:

    group toppings many halves: mushrooms 100; pepperoni 150
    [half] half pepperoni half mushroom pizza and taco => 1 Pizza + left pepperoni + right mushrooms; 1 ? taco
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schemas.cart import MAX_HEARD_CHARS, Line
from schemas.errors import InvalidMenu
from schemas.menu import Menu
from services.decoding.menu_names import Names, Unreadable
from services.learning.training.written_cart import read_written

_ORDER = re.compile(r"\[([\w, -]+)\]\s*(.+?)\s*=>\s*(.+)")
_NOTE = re.compile(r"(allergy|diet|preparation|other):\s*(\S.*)")
_PRICED = re.compile(r"(.+?)(?:\s+(\d+))?$")
_GROUP_RULES = frozenset({"one", "many", "required", "halves"})


class Misspelt(ValueError):
    """A line of a file can't be read; says which and why."""


@dataclass(frozen=True, slots=True)
class WrittenOrder:
    """What was said, and the cart that is meant, as lines without `heard`, but for the words of a wish."""

    utterance: str
    lines: list[Line]
    notes: tuple[tuple[str, str], ...] = ()
    """(kind, words) of each thing that the kitchen must know beyond the lines."""


def read_menu(file: Path) -> Menu:
    """A menu file's menu. Raises Misspelt."""
    found: dict[str, Any] = {"id": file.stem, "language": "en", "sizes": [], "option_groups": [], "items": []}
    for number, line in _lines(file):
        try:
            _menu_line(line, found)
        except (ValueError, KeyError) as error:
            raise Misspelt(f"{file.name}:{number}: {error} in {line!r}") from None
    try:
        return Menu.parse(found)
    except InvalidMenu as error:
        raise Misspelt(f"{file.name}: {error.problems}") from None


def read_orders(file: Path, menu: Menu) -> tuple[list[WrittenOrder], list[str]]:
    """A file's orders, and a sentence for each line that can't be read."""
    names, orders, problems = Names(menu), [], []
    for number, line in _lines(file):
        order = _ORDER.match(line)
        if order is None:
            problems.append(f"{file.name}:{number}: not `[tags] words => cart`: {line!r}")
            continue
        try:
            cart, *notes = order[3].split(" // ")
            lines = read_written(cart, names)
            _expect_pieces([line["heard"] for line in lines if "heard" in line], order[2])
            orders.append(WrittenOrder(order[2], lines, tuple(_note(n, order[2]) for n in notes)))
        except (Unreadable, Misspelt) as error:
            problems.append(f"{file.name}:{number}: {error}")
    return orders, problems


def _note(text: str, transcript: str) -> tuple[str, str]:
    """(kind, words) of a note. Raises Misspelt, also where the words are not a piece of the transcript."""
    note = _NOTE.fullmatch(text.strip())
    if note is None:
        raise Misspelt(f"not `KIND: words` with KIND allergy, diet, preparation or other: {text!r}")
    _expect_pieces([note[2]], transcript)
    return note[1], note[2]


def _expect_pieces(pieces: list[str], transcript: str) -> None:
    """Raises Misspelt where a piece is too long or not in the transcript; letters' case does not matter."""
    for piece in pieces:
        if len(piece) > MAX_HEARD_CHARS:
            raise Misspelt(f"the words of a wish or note may have {MAX_HEARD_CHARS} characters: {piece!r}")
        if piece.casefold() not in transcript.casefold():
            raise Misspelt(f"the words of a wish or note must stand in the order: {piece!r}")


def _menu_line(line: str, found: dict[str, Any]) -> None:
    kind, _, rest = line.partition(" ")
    if kind in ("name:", "currency:", "language:"):
        found[kind[:-1]] = rest.strip()
    elif kind == "size":
        key, _, names = rest.partition(":")
        found["sizes"].append({"id": key.strip(), **_named(names)})
    elif kind == "group":
        head, _, options = rest.partition(":")
        name, *rules = re.split(r"\s+(?=(?:one|many)\b)", head.strip(), maxsplit=1)
        rules = rules[0].split() if rules else ["many"]
        if unknown := set(rules) - _GROUP_RULES:
            raise ValueError(f"a group may be one, many, required, halves, not {', '.join(sorted(unknown))}")
        made = [_option(text) for text in options.split(";") if text.strip()]
        group = {"id": _slug(name), "name": name, "choose": rules[0], "options": made}
        found["option_groups"].append(group | {rule: rule in rules for rule in ("required", "halves")})
    elif kind == "item":
        found["items"].append(_item(rest))
    else:
        raise ValueError("a line begins with name:, currency:, language:, size, group or item")


def _item(text: str) -> dict[str, Any]:
    names, colon, rest = text.partition(":")
    if not colon:
        raise ValueError("no `:` before the price")
    priced = re.match(r"([^\[]*)(?:\[(.*)\])?$", rest.strip())
    if priced is None:
        raise ValueError("groups stand in one pair of brackets at the end")
    item = {"sku": _slug(names.partition("=")[0]), **_named(names)}
    price = priced[1].strip()
    if price.isdigit():
        item["price"] = int(price)
    else:
        sized = (part.split() for part in price.split(","))
        item["prices"] = {size: int(money) for size, money in sized}
    item["option_groups"] = [_slug(group) for group in (priced[2] or "").split(",") if group.strip()]
    return item


def _option(text: str) -> dict[str, Any]:
    priced = _PRICED.match(text.strip())
    assert priced is not None
    named = _named(priced[1])
    return {"id": _slug(named["name"]), **named, "price": int(priced[2] or 0)}


def _named(text: str) -> dict[str, Any]:
    name, *aliases = (part.strip() for part in text.split("="))
    return {"name": name, "aliases": [alias for alias in aliases if alias]}


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.casefold()).strip("-") or "x"


def _lines(file: Path) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(file.read_text().splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            yield number, line.strip()
