"""Parse menus and orders in the text notation of their writers, and check them against each other.

    pytest tests/unit/evaluation/test_training_data.py    # parses all of tests/orders, and lists the errors

A menu (`NAME.menu`) has sizes, option groups and items, `=` before aliases, and prices in minor units.

    name: Curry Leaf
    currency: GBP
    language: en
    size L: large = family
    group spice one: mild; medium; extra hot = vindaloo hot 50
    group sides many required: raita 120; naan = naan bread 250
    item Chicken Tikka Masala = CTM: 895 [spice, sides]
    item Cola: S 150, L 210

A line of orders (`NAME.orders`) has tags, the utterance and the cart (`written_cart.py`).

    [plain] two ctms, one medium one hot, and a large coke => 1 Chicken Tikka Masala + medium; ...

Notes to the kitchen follow ` // `, as `KIND: the customer's own words`, of kind `allergy`, `diet`,
`preparation` or `other`:

    [allergy] a mango lassi, I'm allergic to nuts => 1 Mango Lassi // allergy: I'm allergic to nuts

An option of a group with `halves` may be for one half only, and an off-menu request may be followed by its
words, an exact part of the utterance:

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


class NotationError(ValueError):
    """A line of a file is invalid; says which and why."""


@dataclass(frozen=True, slots=True)
class WrittenOrder:
    """An utterance and its expected lines, with `heard` only for off-menu requests."""

    utterance: str
    lines: list[Line]
    notes: tuple[tuple[str, str], ...] = ()
    """(kind, words) of each note to the kitchen."""


def read_menu(file: Path) -> Menu:
    """Parse a menu file. Raises NotationError."""
    menu: dict[str, Any] = {"id": file.stem, "language": "en", "sizes": [], "option_groups": [], "items": []}
    for number, line in _lines(file):
        try:
            _menu_line(line, menu)
        except (ValueError, KeyError) as error:
            raise NotationError(f"{file.name}:{number}: {error} in {line!r}") from None
    try:
        return Menu.parse(menu)
    except InvalidMenu as error:
        raise NotationError(f"{file.name}: {error.problems}") from None


def read_orders(file: Path, menu: Menu) -> tuple[list[WrittenOrder], list[str]]:
    """Return a file's orders, and a sentence for each invalid line."""
    names, orders, problems = Names(menu), [], []
    for number, line in _lines(file):
        match = _ORDER.match(line)
        if match is None:
            problems.append(f"{file.name}:{number}: not `[tags] words => cart`: {line!r}")
            continue
        try:
            cart, *notes = match[3].split(" // ")
            lines = read_written(cart, names)
            _check_quotes([line["heard"] for line in lines if "heard" in line], match[2])
            orders.append(WrittenOrder(match[2], lines, tuple(_note(n, match[2]) for n in notes)))
        except (Unreadable, NotationError) as error:
            problems.append(f"{file.name}:{number}: {error}")
    return orders, problems


def _note(text: str, transcript: str) -> tuple[str, str]:
    """Parse a note into (kind, words). Raises NotationError, also if the transcript lacks the words."""
    match = _NOTE.fullmatch(text.strip())
    if match is None:
        raise NotationError(f"not `KIND: words` with KIND allergy, diet, preparation or other: {text!r}")
    _check_quotes([match[2]], transcript)
    return match[1], match[2]


def _check_quotes(quotes: list[str], transcript: str) -> None:
    """Raise NotationError if a quote is too long or not in the transcript; case doesn't matter."""
    for quote in quotes:
        if len(quote) > MAX_HEARD_CHARS:
            raise NotationError(f"words of a request or note over {MAX_HEARD_CHARS} characters: {quote!r}")
        if quote.casefold() not in transcript.casefold():
            raise NotationError(f"words of a request or note that are not in the utterance: {quote!r}")


def _menu_line(line: str, menu: dict[str, Any]) -> None:
    kind, _, rest = line.partition(" ")
    if kind in ("name:", "currency:", "language:"):
        menu[kind[:-1]] = rest.strip()
    elif kind == "size":
        key, _, names = rest.partition(":")
        menu["sizes"].append({"id": key.strip(), **_names_of(names)})
    elif kind == "group":
        head, _, options = rest.partition(":")
        name, *rules = re.split(r"\s+(?=(?:one|many)\b)", head.strip(), maxsplit=1)
        rules = rules[0].split() if rules else ["many"]
        if unknown := set(rules) - _GROUP_RULES:
            raise ValueError(f"a group may be one, many, required, halves, not {', '.join(sorted(unknown))}")
        parsed = [_option(text) for text in options.split(";") if text.strip()]
        group = {"id": _slug(name), "name": name, "choose": rules[0], "options": parsed}
        menu["option_groups"].append(group | {rule: rule in rules for rule in ("required", "halves")})
    elif kind == "item":
        menu["items"].append(_item(rest))
    else:
        raise ValueError("a line begins with name:, currency:, language:, size, group or item")


def _item(text: str) -> dict[str, Any]:
    names, colon, rest = text.partition(":")
    if not colon:
        raise ValueError("no `:` before the price")
    match = re.match(r"([^\[]*)(?:\[(.*)\])?$", rest.strip())
    if match is None:
        raise ValueError("groups stand in one pair of brackets at the end")
    item = {"sku": _slug(names.partition("=")[0]), **_names_of(names)}
    price = match[1].strip()
    if price.isdigit():
        item["price"] = int(price)
    else:
        sized = (part.split() for part in price.split(","))
        item["prices"] = {size: int(money) for size, money in sized}
    item["option_groups"] = [_slug(group) for group in (match[2] or "").split(",") if group.strip()]
    return item


def _option(text: str) -> dict[str, Any]:
    match = _PRICED.match(text.strip())
    assert match is not None
    names = _names_of(match[1])
    return {"id": _slug(names["name"]), **names, "price": int(match[2] or 0)}


def _names_of(text: str) -> dict[str, Any]:
    name, *aliases = (part.strip() for part in text.split("="))
    return {"name": name, "aliases": [alias for alias in aliases if alias]}


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.casefold()).strip("-") or "x"


def _lines(file: Path) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(file.read_text().splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            yield number, line.strip()
