"""The form controls of a cart's lines for staff, with their choices and values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class SelectOption:
    """One entry of a select."""

    value: str
    label: str


Groups = tuple[tuple[str, tuple[SelectOption, ...]], ...]
"""The entries of a select by group; a group without a label is none."""


@dataclass(frozen=True, slots=True)
class Control:
    """One field: a select with `groups`, else a number from 1 to `maximum`."""

    name: str
    label: str
    value: str
    groups: Groups = ()
    maximum: int = 0


@dataclass(frozen=True, slots=True)
class LineControls:
    """One line: its words, its controls, a row of controls for each option, and one to add an option."""

    index: int
    words: str
    controls: tuple[Control, ...]
    options: tuple[tuple[Control, ...], ...]
    more: Control | None


@dataclass(frozen=True, slots=True)
class NoteControls:
    """One note: a control for its kind, and its words."""

    index: int
    kind: Control
    words: str


def note_controls(index: int, note: NoteFields) -> NoteControls:
    """Return the controls of a note."""
    kind = Control(f"note-{index}-kind", "Kind", note.kind, _entries(_KINDS))
    return NoteControls(index, kind, note.heard)


def line_controls(index: int, line: LineFields, menu: Menu) -> LineControls:
    """Return the controls of a line: a size where the item has any, options where it has more."""
    at, item = f"line-{index}", menu.item(line.sku)
    controls = [
        _select(f"{at}-sku", "Item", line.sku, _items(menu), "Choose an item…"),
        Control(f"{at}-quantity", "Quantity", line.quantity, maximum=MAX_QUANTITY),
    ]
    if item and item.prices:
        controls.append(Control(f"{at}-size", "Size", line.size, _sizes(item, menu, line.size)))
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
        Control(f"{at}-amount", "Amount", chosen.amount, _entries(_AMOUNTS)),
        Control(f"{at}-count", "Count", chosen.count, maximum=MAX_COUNT),
    )
    group = menu.group(chosen.group)
    if (group is None or not group.halves) and chosen.portion == Portion.WHOLE:
        return controls
    return (*controls, Control(f"{at}-portion", "Part", chosen.portion, _entries(_PARTS)))


def _select(name: str, label: str, value: str, groups: Groups, prompt: str) -> Control:
    """Return a select, with a prompt while it has no entry with its value."""
    known = any(entry.value == value for _, entries in groups for entry in entries)
    return Control(name, label, value, groups if known else _entries({"": prompt}) + groups)


def _entries(labels: Mapping[str, str]) -> Groups:
    return (("", tuple(SelectOption(value, label) for value, label in labels.items())),)


def _items(menu: Menu) -> Groups:
    groups: dict[str, list[SelectOption]] = {}
    for item in menu.items:
        label = item.name if item.available else f"{item.name} (not available)"
        groups.setdefault(item.category, []).append(SelectOption(item.sku, label))
    return tuple((category, tuple(entries)) for category, entries in groups.items())


def _sizes(item: Item, menu: Menu, value: str) -> Groups:
    default = menu.size(item.default_size) if item.default_size else None
    unspecified = {"": f"not said ({default.name})" if default else "Choose a size…"}
    named = {i: size.name if (size := menu.size(i)) else i for i in item.size_ids}
    # Once a size is chosen, "choose" isn't offered; "not said" still is if the menu has a default.
    return _entries(named if value and default is None else unspecified | named)


def _options(item: Item | None, menu: Menu, chosen: str = "", without: set[str] | None = None) -> Groups:
    """Return the item's options by group: those available, but for some, and the `chosen` one."""
    groups = []
    for group in menu.groups_of(item) if item else ():
        entries = tuple(
            SelectOption(key, option.name)
            for option in group.options
            if (key := f"{group.id}/{option.id}") == chosen
            or (option.available and key not in (without or set()))
        )
        if entries:
            groups.append((group.name, entries))
    return tuple(groups)
