"""The controls that staff fill in for each line of a cart: what is chosen from, and what is chosen.

Each field of `ItemLine` and `OptionDraft` becomes a control by where its values come from (`x-values`), and a
field with an unknown source raises, as it does in the grammar's walk.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from pydantic import BaseModel

from schemas.cart import ItemLine, NoteDraft, OptionDraft, Portion
from schemas.menu import Item, Menu
from services.web.staff.review_form import Line, asked, option_key, properties, source

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
class Choice:
    """One entry of a select."""

    value: str
    label: str


@dataclass(frozen=True, slots=True)
class Control:
    """One field to fill. With `groups` a select, without them a number from `minimum` to `maximum`."""

    name: str
    label: str
    value: str
    groups: tuple[tuple[str, tuple[Choice, ...]], ...] = ()
    minimum: int | None = None
    maximum: int | None = None


@dataclass(frozen=True, slots=True)
class LineForm:
    """One line: its words, its own controls, a row of controls for each option, and one to add an option."""

    index: int
    heard: str
    controls: tuple[Control, ...]
    options: tuple[tuple[Control, ...], ...] = ()
    more: Control | None = None


@dataclass(frozen=True, slots=True)
class NoteForm:
    """One note: its kind to choose, its words to write."""

    index: int
    kind: Control
    heard: str


def notes_controls(notes: tuple[Line, ...], menu: Menu) -> tuple[NoteForm, ...]:
    """The form to show for these notes."""
    return tuple(
        NoteForm(at, _control(NoteDraft, "kind", f"note-{at}-kind", note, None, menu), note["heard"])
        for at, note in enumerate(notes)
    )


def controls_of(lines: tuple[Line, ...], menu: Menu) -> tuple[LineForm, ...]:
    """The form to show for these lines."""
    return tuple(_line_form(index, line, menu) for index, line in enumerate(lines))


@cache
def max_options() -> int:
    """The most options that a line may have, from the schema."""
    return int(properties(ItemLine)["options"]["maxItems"])


def _line_form(index: int, line: Line, menu: Menu) -> LineForm:
    item = menu.item(line["sku"])
    at = f"line-{index}"
    rows = tuple(
        tuple(
            _control(OptionDraft, name, f"{at}-option-{row}-{name}", chosen, item, menu)
            for name in asked(OptionDraft)
            if source(OptionDraft, name) != "portions" or _has_parts(chosen, menu)
        )
        for row, chosen in enumerate(line["options"])
    )
    offered = _option_groups(item, menu, taken={option_key(o) for o in line["options"]})
    more = Control(f"{at}-more", "Add an option", "", (("", (Choice("", "Add an option…"),)), *offered))
    # Sizes only where there are any; an unknown item has neither sizes nor options yet.
    controls = tuple(
        _control(ItemLine, name, f"{at}-{name}", line, item, menu)
        for name in asked(ItemLine)
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
        # An option that was just added has no count yet: the schema's own default.
        value = value or str(spec.get("default", ""))
        return Control(name, _LABELS[of], value, minimum=spec["minimum"], maximum=spec["maximum"])
    if of == "items":
        unknown = () if menu.item(value) else (("", (Choice("", "Choose an item…"),)),)
        return Control(name, _LABELS[of], value, unknown + _items(menu))
    if of == "sizes":
        return Control(name, _LABELS[of], value, (("", _sizes(item, menu, value)),))
    if of == "options":
        return Control(name, _LABELS[of], option_key(line), _option_groups(item, menu, option_key(line)))
    if of in ("amounts", "portions", "note_kinds"):
        words = _PARTS if of == "portions" else {}
        choices = tuple(Choice(one, words.get(one, one)) for one in _enum(model, field_name))
        return Control(name, _LABELS[of], value or str(spec.get("default", "")), (("", choices),))
    raise ValueError(f"{model.__name__}.{field_name} takes its values from {of!r}: teach the form to ask")


def _has_parts(chosen: Line, menu: Menu) -> bool:
    """Whether an option may go on one half, or is on one though it may not."""
    group = menu.group(chosen["group"])
    return (group is not None and group.halves) or chosen.get("portion", "") not in ("", Portion.WHOLE)


def _items(menu: Menu) -> tuple[tuple[str, tuple[Choice, ...]], ...]:
    groups: dict[str, list[Choice]] = {}
    for item in menu.items:
        label = item.name if item.available else f"{item.name} (not available)"
        groups.setdefault(item.category, []).append(Choice(item.sku, label))
    return tuple((category, tuple(choices)) for category, choices in groups.items())


def _sizes(item: Item | None, menu: Menu, value: str) -> tuple[Choice, ...]:
    if item is None:
        return ()
    default = menu.size(item.default_size) if item.default_size else None
    unsaid = Choice("", f"not said ({default.name})" if default else "Choose a size…")
    named = tuple(Choice(i, size.name if (size := menu.size(i)) else i) for i in item.size_ids)
    # Once a size is chosen, "choose" is no choice; "not said" stays one where the menu has a default.
    return named if value and default is None else (unsaid, *named)


def _option_groups(
    item: Item | None, menu: Menu, chosen: str = "", taken: set[str] | None = None
) -> tuple[tuple[str, tuple[Choice, ...]], ...]:
    """Options that the item offers, by group; without those `taken`, and without what is not available now
    unless it is `chosen` already."""
    found = []
    for group_id in item.option_groups if item else ():
        group = menu.group(group_id)
        if group is None:
            continue
        choices = tuple(
            Choice(key, option.name)
            for option in group.options
            if (key := f"{group.id}/{option.id}") == chosen
            or (option.available and key not in (taken or set()))
        )
        if choices:
            found.append((group.name, choices))
    return tuple(found)


@cache
def _enum(model: type[BaseModel], name: str) -> tuple[str, ...]:
    """The values of an enumerated field, from the schema's own definition."""
    reference = str(properties(model)[name]["$ref"]).rpartition("/")[2]
    return tuple(model.model_json_schema()["$defs"][reference]["enum"])
