"""A cart as a form for staff, made from the schema that the mask is made from, and from the order's menu.

No field, bound or choice is written down here a second time: each field of `ItemLine` and `OptionDraft`
becomes a control by where its values come from (`x-values`), and a field whose source nobody knows raises,
as it does in the grammar's walk. Names of fields are `line-<n>-<field>` and `line-<n>-option-<m>-<field>`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from pydantic import BaseModel, ValidationError

from schemas.cart import CartDraft, ItemLine, OptionDraft
from schemas.menu import Item, Menu
from services.web.pages import Form

# A wish in the form: what `ItemLine` or `NotOnMenuLine` says, as text. Options are dicts of text as well.
Line = dict[str, Any]

ADDED = "added by staff"
_LABELS = {
    "items": "Item",
    "quantities": "Quantity",
    "sizes": "Size",
    "options": "Option",
    "amounts": "Amount",
    "counts": "Count",
}
# Not asked about: the words are what they are, and an option's group comes with the option.
_KEPT = {"transcript", "groups"}


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
class Read:
    """What a form says: the draft (None when it says something impossible) and what is wrong, by line."""

    lines: tuple[Line, ...]
    draft: CartDraft | None
    problems: dict[int, list[str]] = field(default_factory=dict)


def lines_of(draft: CartDraft | None) -> tuple[Line, ...]:
    """A draft as the form's lines."""
    if draft is None:
        return ()
    return tuple(_texts(line.model_dump(mode="json")) for line in draft.lines)


def read(form: Form, menu: Menu) -> Read:
    """What was filled in, and what the pressed button asks for: `add`, `remove` or `drop` (an option)."""
    lines = [_line(form, index) for index in _indices(form) if index != form.get("remove")]
    for line in lines:
        _fit(line, menu, form.get("drop"), form.get(f"line-{line['at']}-more"))
    if "add" in form and len(lines) < max_lines():
        lines.append({"heard": ADDED, "sku": "", "size": "", "quantity": "1", "options": []})
    return draft_of(tuple(lines))


def draft_of(lines: tuple[Line, ...]) -> Read:
    """The lines as a draft; a line without an item stays a wish that the menu does not have."""
    try:
        return Read(lines, CartDraft.model_validate({"lines": [_document(line) for line in lines]}))
    except ValidationError as error:
        problems: dict[int, list[str]] = {}
        for found in error.errors(include_url=False):
            where = found["loc"]
            index = where[1] if len(where) > 1 and isinstance(where[1], int) else -1
            problems.setdefault(index, []).append(f"{_label(where)}: {found['msg']}")
        return Read(lines, None, problems)


def controls_of(lines: tuple[Line, ...], menu: Menu) -> tuple[LineForm, ...]:
    """The form to show for these lines."""
    return tuple(_line_form(index, line, menu) for index, line in enumerate(lines))


@cache
def max_lines() -> int:
    """The most lines that a cart may have, from the schema."""
    return int(CartDraft.model_json_schema()["properties"]["lines"]["maxItems"])


@cache
def max_options() -> int:
    """The most options that a line may have, from the schema."""
    return int(_properties(ItemLine)["options"]["maxItems"])


def _line_form(index: int, line: Line, menu: Menu) -> LineForm:
    item = menu.item(line["sku"])
    at = f"line-{index}"
    rows = tuple(
        tuple(
            _control(OptionDraft, name, f"{at}-option-{row}-{name}", chosen, item, menu)
            for name in _asked(OptionDraft)
        )
        for row, chosen in enumerate(line["options"])
    )
    offered = _option_groups(item, menu, taken={_option_key(o) for o in line["options"]})
    more = Control(f"{at}-more", "Add an option", "", (("", (Choice("", "Add an option…"),)), *offered))
    # Sizes only where there are any; an unknown item has neither sizes nor options yet.
    controls = tuple(
        _control(ItemLine, name, f"{at}-{name}", line, item, menu)
        for name in _asked(ItemLine)
        if _source(ItemLine, name) != "sizes" or (item and item.prices)
    )
    room = len(rows) < max_options()
    return LineForm(index, line["heard"], controls, rows, more if offered and room else None)


def _control(
    model: type[BaseModel], field_name: str, name: str, line: Line, item: Item | None, menu: Menu
) -> Control:
    spec, source = _properties(model)[field_name], _source(model, field_name)
    value = line.get(field_name, "")
    if source in ("quantities", "counts"):
        # An option that was just added has no count yet: the schema's own default.
        value = value or str(spec.get("default", ""))
        return Control(name, _LABELS[source], value, minimum=spec["minimum"], maximum=spec["maximum"])
    if source == "items":
        unknown = () if menu.item(value) else (("", (Choice("", "Choose an item…"),)),)
        return Control(name, _LABELS[source], value, unknown + _items(menu))
    if source == "sizes":
        return Control(name, _LABELS[source], value, (("", _sizes(item, menu, value)),))
    if source == "options":
        return Control(
            name, _LABELS[source], _option_key(line), _option_groups(item, menu, _option_key(line))
        )
    if source == "amounts":
        amounts = tuple(Choice(amount, amount) for amount in _enum(model, field_name))
        return Control(name, _LABELS[source], value or str(spec.get("default", "")), (("", amounts),))
    raise ValueError(f"{model.__name__}.{field_name} takes its values from {source!r}: teach the form to ask")


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


def _line(form: Form, index: str) -> Line:
    at = f"line-{index}-"
    line: Line = {name: form.get(at + name) for name in _asked(ItemLine)}
    line |= {"at": index, "heard": form.get(at + "heard"), "options": []}
    for row in _indices(form, f"{at}option-"):
        option = {name: form.get(f"{at}option-{row}-{name}") for name in _asked(OptionDraft)}
        group, _, key = option["id"].partition("/")
        line["options"].append({**option, "group": group, "id": key, "at": f"{index}-{row}"})
    return line


def _fit(line: Line, menu: Menu, dropped: str, added: str) -> None:
    """Let go of what another item does not have: its sizes and options. Then drop or add an option."""
    item = menu.item(line["sku"])
    if item is None or line["size"] not in item.size_ids:
        line["size"] = ""
    offered = {
        f"{g.id}/{o.id}"
        for i in (item.option_groups if item else ())
        if (g := menu.group(i))
        for o in g.options
    }
    line["options"] = [o for o in line["options"] if o["at"] != dropped and _option_key(o) in offered]
    if added in offered:
        group, _, key = added.partition("/")
        line["options"].append({"group": group, "id": key})


def _document(line: Line) -> dict[str, Any]:
    """One line as the schema wants it: numbers as numbers, what was left empty left out."""
    kind = "item" if line["sku"] else "not_on_menu"
    found: dict[str, Any] = {"kind": kind, "heard": line["heard"], "quantity": _number(line["quantity"])}
    if kind == "not_on_menu":
        return found
    options = [
        {
            name: _number(text) if "minimum" in spec else text
            for name, spec in _properties(OptionDraft).items()
            if (text := option.get(name, ""))
        }
        for option in line["options"]
    ]
    return found | {"sku": line["sku"], "size": line["size"] or None, "options": options}


def _number(text: str) -> int | str:
    # What is no number is left for the schema to refuse, which names the field.
    return int(text) if re.fullmatch(r"\d{1,6}", text, re.ASCII) else text


def _texts(document: dict[str, Any]) -> Line:
    line = {name: "" if value is None else str(value) for name, value in document.items()}
    options = [{k: str(v) for k, v in option.items()} for option in document.get("options", ())]
    return {"sku": "", "size": "", **line, "options": options}


def _option_key(option: Line) -> str:
    return f"{option['group']}/{option['id']}" if option.get("id") else ""


def _indices(form: Form, prefix: str = "line-") -> list[str]:
    found = {m[1] for name in form.fields if (m := re.match(rf"{re.escape(prefix)}(\d{{1,3}})-", name))}
    return sorted(found, key=int)


@cache
def _properties(model: type[BaseModel]) -> dict[str, Any]:
    return dict(model.model_json_schema()["properties"])


def _source(model: type[BaseModel], name: str) -> str | None:
    source = _properties(model)[name].get("x-values")
    return None if source is None else str(source)


@cache
def _asked(model: type[BaseModel]) -> tuple[str, ...]:
    """Fields to fill in, in an order that reads well: what, then the rest as the schema has it."""
    names = [n for n in _properties(model) if (s := _source(model, n)) is not None and s not in _KEPT]
    return tuple(sorted(names, key=lambda n: _source(model, n) not in ("items", "options")))


@cache
def _enum(model: type[BaseModel], name: str) -> tuple[str, ...]:
    """The values of an enumerated field, from the schema's own definition."""
    reference = str(_properties(model)[name]["$ref"]).rpartition("/")[2]
    return tuple(model.model_json_schema()["$defs"][reference]["enum"])


def _label(where: tuple[int | str, ...]) -> str:
    named = [part for part in where if isinstance(part, str) and part not in ("lines", "item", "not_on_menu")]
    return " ".join(named) or "cart"
