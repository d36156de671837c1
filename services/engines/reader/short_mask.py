"""The reader's mask: every short form of a menu and nothing else, as an llguidance grammar.

It is of the whole menu, so one grammar serves every order of a menu version. Bounds are those of
`schemas/cart.py`, which the cart read from a short form is checked against as well.
"""

from __future__ import annotations

from collections.abc import Iterable

from schemas.cart import MAX_COUNT, MAX_LINES, MAX_OPTIONS
from schemas.menu import Menu
from services.engines.masks.mask import Mask
from services.engines.reader.short_form import AMOUNTS, NOTHING, OFF_MENU, Names

_TOKENS_A_LINE = 120


def short_mask(menu: Menu, names: Names) -> Mask:
    """The mask of one menu version.

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
    amount = either(word for word in AMOUNTS.values() if word)
    for groups, choices in offered.items():
        if choices:
            named = either(choice.name for choice in choices)
            option = f'" + " ({amount})? ({named}) (" x" COUNT)?'
            rules.append(f"OPTIONS{numbered[groups]}: ({option}){{0,{MAX_OPTIONS}}}")
    counts = "|".join(str(n) for n in range(2, MAX_COUNT + 1))
    head = [
        "%llguidance {}",
        "start: CART",
        f'CART: "{NOTHING}" | LINE ("; " LINE){{0,{MAX_LINES - 1}}}',
        f'LINE: NUMBER " " ("{OFF_MENU}" | {" | ".join(kinds)})',
        "NUMBER: /[1-9][0-9]{0,2}/",
        f"COUNT: /{counts}/",
    ]
    return Mask("\n".join([*head, *rules]) + "\n", "short form", _TOKENS_A_LINE * MAX_LINES)


def either(texts: Iterable[str]) -> str:
    """One of these, as a grammar writes it."""
    return " | ".join(f'"{_quoted(text)}"' for text in texts)


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
