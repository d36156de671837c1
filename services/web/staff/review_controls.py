"""The form controls of a cart's lines for staff, with their choices and values.

Each field of `ItemLine` and `OptionDraft` becomes a control by the source of its values (`x-values`); an
unknown source raises, as it does in the mask.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from pydantic import BaseModel

from schemas.cart import ItemLine, NoteDraft, OptionDraft, Portion
from schemas.menu import Item, Menu
from services.web.staff.review_form import Line, editable, option_key, properties, source

_LABELS = {
    "items": "Item",
    "quantities": "Quantity",
    "sizes": "Size",
    "options": "Option",
    "amounts": "Amount",
    "counts": "Count",
    "portions": "Part",
    "note_kinds": "Kind",
}
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


@dataclass(frozen=True, slots=True)
class Control:
    """One field: a select with `groups`, else a number from `minimum` to `maximum`."""

    name: str
    label: str
    value: str
    groups: tuple[tuple[str, tuple[SelectOption, ...]], ...] = ()
    minimum: int | None = None
    maximum: int | None = None


@dataclass(frozen=True, slots=True)
class LineForm:
    """One line: its words, its controls, a row of controls for each option, and one to add an option."""

    index: int
    words: str
    controls: tuple[Control, ...]
    options: tuple[tuple[Control, ...], ...] = ()
    more: Control | None = None


@dataclass(frozen=True, slots=True)
class NoteForm:
    """One note: a control for its kind, and its words."""

    index: int
    kind: Control
    words: str


def notes_controls(notes: tuple[Line, ...], menu: Menu) -> tuple[NoteForm, ...]:
    """Return the controls of notes."""
    return tuple(
        NoteForm(at, _control(NoteDraft, "kind", f"note-{at}-kind", note, None, menu), note["heard"])
        for at, note in enumerate(notes)
    )


def controls_of(lines: tuple[Line, ...], menu: Menu) -> tuple[LineForm, ...]:
    """Return the controls of lines."""
    return tuple(_line_form(index, line, menu) for index, line in enumerate(lines))


@cache
def max_options() -> int:
    """Return the maximum number of options of a line, from the schema."""
    return int(properties(ItemLine)["options"]["maxItems"])


def _line_form(index: int, line: Line, menu: Menu) -> LineForm:
    item = menu.item(line["sku"])
    at = f"line-{index}"
    rows = tuple(
        tuple(
            _control(OptionDraft, name, f"{at}-option-{row}-{name}", chosen, item, menu)
            for name in editable(OptionDraft)
            if source(OptionDraft, name) != "portions" or _has_parts(chosen, menu)
        )
        for row, chosen in enumerate(line["options"])
    )
    offered = _option_groups(item, menu, taken={option_key(o) for o in line["options"]})
    more = Control(f"{at}-more", "Add an option", "", (("", (SelectOption("", "Add an option…"),)), *offered))
    # Sizes only where there are any; an unknown item has neither sizes nor options yet.
    controls = tuple(
        _control(ItemLine, name, f"{at}-{name}", line, item, menu)
        for name in editable(ItemLine)
        if source(ItemLine, name) != "sizes" or (item and item.prices)
    )
    room = len(rows) < max_options()
    return LineForm(index, line["heard"], controls, rows, more if offered and room else None)


def _control(
    model: type[BaseModel], field_name: str, name: str, line: Line, item: Item | None, menu: Menu
) -> Control:
    spec, of = properties(model)[field_name], source(model, field_name)
    value = line.get(field_name, "")
    if of in ("quantities", "counts"):
        # A new option has no count yet: use the schema's default.
        value = value or str(spec.get("default", ""))
        return Control(name, _LABELS[of], value, minimum=spec["minimum"], maximum=spec["maximum"])
    if of == "items":
        unknown = () if menu.item(value) else (("", (SelectOption("", "Choose an item…"),)),)
        return Control(name, _LABELS[of], value, unknown + _items(menu))
    if of == "sizes":
        return Control(name, _LABELS[of], value, (("", _sizes(item, menu, value)),))
    if of == "options":
        key = option_key(line)
        groups = _option_groups(item, menu, key)
        # Of one that isn't the item's, or that may go with several of its options.
        known = any(choice.value == key for _, choices in groups for choice in choices)
        unknown = () if known else (("", (SelectOption("", "Choose an option…"),)),)
        return Control(name, _LABELS[of], key, unknown + groups)
    if of in ("amounts", "portions", "note_kinds"):
        words = _PARTS if of == "portions" else {}
        choices = tuple(SelectOption(one, words.get(one, one)) for one in _enum(model, field_name))
        return Control(name, _LABELS[of], value or str(spec.get("default", "")), (("", choices),))
    raise ValueError(f"{model.__name__}.{field_name} has values from {of!r}, which the form lacks")


def _has_parts(chosen: Line, menu: Menu) -> bool:
    """Return whether an option may go on one half, or does so now."""
    group = menu.group(chosen["group"])
    return (group is not None and group.halves) or chosen.get("portion", "") not in ("", Portion.WHOLE)


def _items(menu: Menu) -> tuple[tuple[str, tuple[SelectOption, ...]], ...]:
    groups: dict[str, list[SelectOption]] = {}
    for item in menu.items:
        label = item.name if item.available else f"{item.name} (not available)"
        groups.setdefault(item.category, []).append(SelectOption(item.sku, label))
    return tuple((category, tuple(choices)) for category, choices in groups.items())


def _sizes(item: Item | None, menu: Menu, value: str) -> tuple[SelectOption, ...]:
    if item is None:
        return ()
    default = menu.size(item.default_size) if item.default_size else None
    unspecified = SelectOption("", f"not said ({default.name})" if default else "Choose a size…")
    named = tuple(SelectOption(i, size.name if (size := menu.size(i)) else i) for i in item.size_ids)
    # Once a size is chosen, "choose" isn't offered; "not said" still is if the menu has a default.
    return named if value and default is None else (unspecified, *named)


def _option_groups(
    item: Item | None, menu: Menu, chosen: str = "", taken: set[str] | None = None
) -> tuple[tuple[str, tuple[SelectOption, ...]], ...]:
    """Return the item's options by group, without those `taken` and those unavailable, unless `chosen`."""
    groups = []
    for group in menu.groups_of(item) if item else ():
        choices = tuple(
            SelectOption(key, option.name)
            for option in group.options
            if (key := f"{group.id}/{option.id}") == chosen
            or (option.available and key not in (taken or set()))
        )
        if choices:
            groups.append((group.name, choices))
    return tuple(groups)


@cache
def _enum(model: type[BaseModel], name: str) -> tuple[str, ...]:
    """Return the values of an enum field, from the schema."""
    reference = str(properties(model)[name]["$ref"]).rpartition("/")[2]
    return tuple(model.model_json_schema()["$defs"][reference]["enum"])
