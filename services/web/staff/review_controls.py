"""The form controls of a cart's lines for staff, with their choices and values."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from schemas.cart import MAX_COUNT, MAX_OPTIONS, MAX_QUANTITY, Amount, NoteKind, Portion
from schemas.menu import Item, Menu
from services.web.staff.review_form import LineFields, NoteFields, OptionFields

_AMOUNTS: dict[str, str] = {amount: amount.value for amount in Amount}
_KINDS: dict[str, str] = {kind: kind.value for kind in NoteKind}
_PARTS: dict[str, str] = {
    Portion.WHOLE: "all of it",
    Portion.LEFT: "first half",
    Portion.RIGHT: "second half",
}


Groups = dict[str, Mapping[str, str]]
"""The entries of a select, values with their labels, by group; a group without a label is none."""


@dataclass(frozen=True, slots=True)
class Control:
    """One field: a select with `groups`, else a number from 1 to `maximum`."""

    name: str
    label: str
    value: str
    groups: Groups = field(default_factory=dict)
    maximum: int = 0


@dataclass(frozen=True, slots=True)
class LineControls:
    """One line: its words, its controls, a row of controls for each option, and one to add an option."""

    index: int
    words: str
    controls: tuple[Control, ...]
    options: tuple[tuple[Control, ...], ...]
    more: Control | None


def note_kind(index: int, note: NoteFields) -> Control:
    """Return the control of a note's kind."""
    return Control(f"note-{index}-kind", "Kind", note.kind, {"": _KINDS})


def line_controls(index: int, line: LineFields, menu: Menu) -> LineControls:
    """Return the controls of a line: a size where the item has any, options where it has more."""
    at, item = f"line-{index}", menu.item(line.sku)
    controls = [
        _select(f"{at}-sku", "Item", line.sku, _items(menu), "Choose an item…"),
        Control(f"{at}-quantity", "Quantity", line.quantity, maximum=MAX_QUANTITY),
    ]
    if item and item.prices:
        controls.append(Control(f"{at}-size", "Size", line.size, {"": _sizes(item, menu, line.size)}))
    rows = tuple(
        _option_controls(f"{at}-option-{row}", chosen, item, menu) for row, chosen in enumerate(line.options)
    )
    rest = _options(item, menu, without={chosen.key for chosen in line.options})
    more = _select(f"{at}-more", "Add an option", "", rest, "Add an option…")
    more_fit = rest and len(rows) < MAX_OPTIONS
    return LineControls(index, line.heard, tuple(controls), rows, more if more_fit else None)


def _option_controls(at: str, chosen: OptionFields, item: Item | None, menu: Menu) -> tuple[Control, ...]:
    options = _options(item, menu, chosen.key)
    controls = (
        # No option while it isn't the item's, or may go with several of its options.
        _select(f"{at}-id", "Option", chosen.key, options, "Choose an option…"),
        Control(f"{at}-amount", "Amount", chosen.amount, {"": _AMOUNTS}),
        Control(f"{at}-count", "Count", chosen.count, maximum=MAX_COUNT),
    )
    group = menu.group(chosen.group)
    if (group is None or not group.halves) and chosen.portion == Portion.WHOLE:
        return controls
    return (*controls, Control(f"{at}-portion", "Part", chosen.portion, {"": _PARTS}))


def _select(name: str, label: str, value: str, groups: Groups, prompt: str) -> Control:
    """Return a select, with a prompt while it has no entry with its value."""
    known = any(value in entries for entries in groups.values())
    return Control(name, label, value, groups if known else {"": {"": prompt}} | groups)


def _items(menu: Menu) -> Groups:
    groups: dict[str, dict[str, str]] = {}
    for item in menu.items:
        label = item.name if item.available else f"{item.name} (not available)"
        groups.setdefault(item.category, {})[item.sku] = label
    return {**groups}


def _sizes(item: Item, menu: Menu, value: str) -> dict[str, str]:
    default = menu.size(item.default_size) if item.default_size else None
    unspecified = {"": f"not said ({default.name})" if default else "Choose a size…"}
    named = {i: size.name if (size := menu.size(i)) else i for i in item.size_ids}
    # Once a size is chosen, "choose" isn't offered; "not said" still is if the menu has a default.
    return named if value and default is None else unspecified | named


def _options(item: Item | None, menu: Menu, chosen: str = "", without: Set[str] = frozenset()) -> Groups:
    """Return the item's options by group: those available, but for some, and the `chosen` one."""
    groups: dict[str, dict[str, str]] = {}
    for group in menu.groups_of(item) if item else ():
        for option in group.options:
            key = f"{group.id}/{option.id}"
            if key == chosen or (option.available and key not in without):
                groups.setdefault(group.name, {})[key] = option.name
    return {**groups}
