"""The choices in the staff's form for a cart: items, sizes and options as its selects have them."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from schemas.cart import MAX_OPTIONS, Portion
from schemas.menu import Item, Menu
from services.web.staff.review_form import LineFields, OptionFields

Groups = dict[str, dict[str, str]]
"""The entries of a select, values with their labels, by group."""


@dataclass(frozen=True, slots=True)
class OptionRow:
    """An option of a line, what it may be changed to, and whether it may go on a half."""

    filled: OptionFields
    choices: Groups
    halves: bool


@dataclass(frozen=True, slots=True)
class LineChoices:
    """The sizes of a line's item, if it has any, a row for each option, and the options that may be added."""

    sizes: dict[str, str]
    options: tuple[OptionRow, ...]
    more: Groups


def line_choices(line: LineFields, menu: Menu) -> LineChoices:
    """Return the choices of a line."""
    item = menu.item(line.sku)
    rows = tuple(
        OptionRow(chosen, _options(item, menu, chosen.key), _halves(chosen, menu)) for chosen in line.options
    )
    rest = _options(item, menu, without={chosen.key for chosen in line.options})
    sizes = _sizes(item, menu, line.size) if item and item.prices else {}
    return LineChoices(sizes, rows, rest if len(rows) < MAX_OPTIONS else {})


def items(menu: Menu) -> Groups:
    """Return the menu's items by category."""
    groups: Groups = {}
    for item in menu.items:
        label = item.name if item.available else f"{item.name} (not available)"
        groups.setdefault(item.category, {})[item.sku] = label
    return groups


def _halves(chosen: OptionFields, menu: Menu) -> bool:
    group = menu.group(chosen.group)
    return chosen.portion != Portion.WHOLE or (group is not None and group.halves)


def _sizes(item: Item, menu: Menu, value: str) -> dict[str, str]:
    default = menu.size(item.default_size) if item.default_size else None
    unspecified = {"": f"not said ({default.name})" if default else "Choose a size…"}
    named = {i: size.name if (size := menu.size(i)) else i for i in item.size_ids}
    # Once a size is chosen, "choose" isn't offered; "not said" still is if the menu has a default.
    return named if value and default is None else unspecified | named


def _options(item: Item | None, menu: Menu, chosen: str = "", without: Set[str] = frozenset()) -> Groups:
    """Return the item's options by group: those available, but for some, and the `chosen` one."""
    groups: Groups = {}
    for group in menu.groups_of(item) if item else ():
        for option in group.options:
            key = f"{group.id}/{option.id}"
            if key == chosen or (option.available and key not in without):
                groups.setdefault(group.name, {})[key] = option.name
    return groups
