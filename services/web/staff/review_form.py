"""The staff's form for a cart, generated from the schema of the mask and the order's menu.

It converts lines and notes to text and back; the controls are in `review_controls.py`. Fields, bounds and
choices come from the schema alone. Fields are named `line-<n>-<field>`, `line-<n>-option-<m>-<field>` and
`note-<n>-<field>`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from pydantic import BaseModel, ValidationError

from schemas.cart import CartDraft, ItemLine, NoteDraft, NoteKind, OptionDraft
from schemas.field_problems import sentence
from schemas.menu import Menu
from services.web.pages import Form

# A line in the form: the fields of `ItemLine` or `NotOnMenuLine` as text. Options are dicts of text, too.
Line = dict[str, Any]

ADDED = "added by staff"
# Not editable: a line's words, and an option's group, which the option implies.
_FIXED = {"transcript", "groups"}


@dataclass(frozen=True, slots=True)
class FilledForm:
    """A parsed form: its draft, None if it is invalid, and its problems by line."""

    lines: tuple[Line, ...]
    draft: CartDraft | None
    problems: dict[int, list[str]] = field(default_factory=dict)
    notes: tuple[Line, ...] = ()


def lines_of(draft: CartDraft | None) -> tuple[Line, ...]:
    """Return a draft's lines as text."""
    if draft is None:
        return ()
    return tuple(_texts(line.model_dump(mode="json")) for line in draft.lines)


def notes_of(draft: CartDraft | None) -> tuple[Line, ...]:
    """Return a draft's notes as text."""
    return tuple(note.model_dump(mode="json") for note in draft.notes) if draft else ()


def read(form: Form, menu: Menu) -> FilledForm:
    """Parse the form, and apply the pressed button: `add`, `remove`, `remove-note` or `drop` (an option)."""
    lines = [_line(form, index) for index in _indices(form) if index != form.get("remove")]
    for line in lines:
        _fit(line, menu, form.get("drop"), form.get(f"line-{line['at']}-more"))
    if form.get("add") == "line" and len(lines) < most("lines"):
        lines.append({"heard": ADDED, "sku": "", "size": "", "quantity": "1", "options": []})
    notes = [
        {name: form.get(f"note-{index}-{name}") for name in NoteDraft.model_fields}
        for index in _indices(form, "note-")
        if index != form.get("remove-note")
    ]
    if form.get("add") == "note" and len(notes) < most("notes"):
        notes.append({"kind": NoteKind.PREPARATION.value, "heard": ""})
    return draft_of(tuple(lines), tuple(notes))


def draft_of(lines: tuple[Line, ...], notes: tuple[Line, ...] = ()) -> FilledForm:
    """Build a draft of lines and notes; a line without an item is not on the menu, an empty note is
    dropped."""
    document = {
        "lines": [_document(line) for line in lines],
        "notes": [note for note in notes if note["heard"].strip()],
    }
    try:
        return FilledForm(lines, CartDraft.model_validate(document), notes=notes)
    except ValidationError as error:
        problems: dict[int, list[str]] = {}
        for fault in error.errors(include_url=False):
            where = fault["loc"]
            index = where[1] if where[0] == "lines" and len(where) > 1 and isinstance(where[1], int) else -1
            text = sentence(fault["type"], fault["msg"], fault.get("ctx", {}))
            problems.setdefault(index, []).append(f"{_label(where)}: {text}")
        return FilledForm(lines, None, problems, notes)


@cache
def most(part: str) -> int:
    """Return the maximum number of `lines` or `notes` of a cart, from the schema."""
    return int(properties(CartDraft)[part]["maxItems"])


def _line(form: Form, index: str) -> Line:
    at = f"line-{index}-"
    line: Line = {name: form.get(at + name) for name in editable(ItemLine)}
    line |= {"at": index, "heard": form.get(at + "heard"), "options": []}
    for row in _indices(form, f"{at}option-"):
        option = {name: form.get(f"{at}option-{row}-{name}") for name in editable(OptionDraft)}
        group, _, key = option["id"].partition("/")
        line["options"].append({**option, "group": group, "id": key, "at": f"{index}-{row}"})
    return line


def _fit(line: Line, menu: Menu, dropped: str, added: str) -> None:
    """Remove the size and options that the item doesn't have; then drop or add an option."""
    item = menu.item(line["sku"])
    if item is None or line["size"] not in item.size_ids:
        line["size"] = ""
    offered = {f"{g.id}/{o.id}" for g in (menu.groups_of(item) if item else ()) for o in g.options}
    line["options"] = [o for o in line["options"] if o["at"] != dropped and option_key(o) in offered]
    if added in offered:
        group, _, key = added.partition("/")
        line["options"].append({"group": group, "id": key})


def _document(line: Line) -> dict[str, Any]:
    """Return a line for validation: numbers converted, empty fields left out."""
    kind = "item" if line["sku"] else "not_on_menu"
    document: dict[str, Any] = {"kind": kind, "heard": line["heard"], "quantity": _number(line["quantity"])}
    if kind == "not_on_menu":
        return document
    options = [
        {
            name: _number(text) if "minimum" in spec else text
            for name, spec in properties(OptionDraft).items()
            if (text := option.get(name, ""))
        }
        for option in line["options"]
    ]
    return document | {"sku": line["sku"], "size": line["size"] or None, "options": options}


def _number(text: str) -> int | str:
    # Anything else is left for the schema to refuse, which names the field.
    return int(text) if re.fullmatch(r"\d{1,6}", text, re.ASCII) else text


def _texts(document: dict[str, Any]) -> Line:
    line = {name: "" if value is None else str(value) for name, value in document.items()}
    options = [{k: str(v) for k, v in option.items()} for option in document.get("options", ())]
    return {"sku": "", "size": "", **line, "options": options}


def option_key(option: Line) -> str:
    return f"{option['group']}/{option['id']}" if option.get("id") else ""


def _indices(form: Form, prefix: str = "line-") -> list[str]:
    indices = {m[1] for name in form.fields if (m := re.match(rf"{re.escape(prefix)}(\d{{1,3}})-", name))}
    return sorted(indices, key=int)


@cache
def properties(model: type[BaseModel]) -> dict[str, Any]:
    return dict(model.model_json_schema()["properties"])


def source(model: type[BaseModel], name: str) -> str | None:
    values = properties(model)[name].get("x-values")
    return None if values is None else str(values)


@cache
def editable(model: type[BaseModel]) -> tuple[str, ...]:
    """Return the editable fields: item or option first, then the rest in the schema's order."""
    names = [n for n in properties(model) if (s := source(model, n)) is not None and s not in _FIXED]
    return tuple(sorted(names, key=lambda n: source(model, n) not in ("items", "options")))


def _label(where: tuple[int | str, ...]) -> str:
    named = [part for part in where if isinstance(part, str) and part not in ("lines", "item", "not_on_menu")]
    return " ".join(named) or "cart"
