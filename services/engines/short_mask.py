"""The reader's mask: every short form of a menu and nothing else, as an llguidance grammar.

It is of the whole menu, so one grammar serves every order of a menu version. Bounds are those of
`schemas/cart.py`, which the cart read from a short form is checked against as well.
"""

from __future__ import annotations

from collections.abc import Iterable

from schemas.cart import MAX_COUNT, MAX_LINES, MAX_OPTIONS
from schemas.menu import Menu
from services.engines.grammar import Mask
from services.engines.short_form import AMOUNTS, NOTHING, OFF_MENU, Names

_TOKENS_A_LINE = 120


def short_mask(menu: Menu, names: Names) -> Mask:
    """The mask of one menu version."""
    rules = ["%llguidance {}", f'start: "{NOTHING}" | line ("; " line){{0,{MAX_LINES - 1}}}']
    shapes: dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for item in menu.items:
        shapes.setdefault((item.size_ids, item.option_groups), []).append(names.items[item.sku])
    offered = {item.option_groups: names.choices(item) for item in menu.items}
    numbered = {groups: index for index, groups in enumerate(offered)}
    kinds = []
    for index, ((sizes, groups), called) in enumerate(shapes.items()):
        sized = f"({_either(names.sizes[s] + ' | ' for s in sizes)})? " if sizes else ""
        options = f" options{numbered[groups]}" if offered[groups] else ""
        rules.append(f"item{index}: {sized}({_either(called)}){options}")
        kinds.append(f"item{index}")
    rules.append(f'line: NUMBER " " ("{OFF_MENU}" | {" | ".join(kinds)})')
    for groups, choices in offered.items():
        if choices:
            named = _either(choice.name for choice in choices)
            amount = _either(word for word in AMOUNTS.values() if word)
            rules.append(
                f'options{numbered[groups]}: (" + " ({amount})? ({named}) (" x" COUNT)?){{0,{MAX_OPTIONS}}}'
            )
    rules.append("NUMBER: /[1-9][0-9]{0,2}/")
    rules.append(f"COUNT: /{'|'.join(str(n) for n in range(2, MAX_COUNT + 1))}/")
    return Mask("\n".join(rules) + "\n", "short form", _TOKENS_A_LINE * MAX_LINES)


def _either(texts: Iterable[str]) -> str:
    return " | ".join(f'"{_quoted(text)}"' for text in texts)


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
