"""A cart as a form for staff, made from the schema that the mask is made from, and from the order's menu: its
lines and notes as text, and back. What is shown of them is in `review_controls.py`.

No field, bound or choice is written down here a second time. Names of fields are `line-<n>-<field>`,
`line-<n>-option-<m>-<field>` and `note-<n>-<field>`.
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

# A wish in the form: what `ItemLine` or `NotOnMenuLine` says, as text. Options are dicts of text as well.
Line = dict[str, Any]

ADDED = "added by staff"
# Not asked about: the words are what they are, and an option's group comes with the option.
_KEPT = {"transcript", "groups"}


@dataclass(frozen=True, slots=True)
class Read:
    """What a form says: the draft (None when it says something impossible) and what is wrong, by line."""

    lines: tuple[Line, ...]
    draft: CartDraft | None
    problems: dict[int, list[str]] = field(default_factory=dict)
    notes: tuple[Line, ...] = ()


def lines_of(draft: CartDraft | None) -> tuple[Line, ...]:
    """A draft as the form's lines."""
    if draft is None:
        return ()
    return tuple(_texts(line.model_dump(mode="json")) for line in draft.lines)


def notes_of(draft: CartDraft | None) -> tuple[Line, ...]:
    """A draft's notes as the form has them."""
    return tuple(note.model_dump(mode="json") for note in draft.notes) if draft else ()


def read(form: Form, menu: Menu) -> Read:
    """What was filled in, and what the pressed button asks for: `add`, `remove`, `remove-note` or `drop` (an
    option)."""
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


def draft_of(lines: tuple[Line, ...], notes: tuple[Line, ...] = ()) -> Read:
    """Lines and notes as a draft; a line without an item stays a wish that the menu does not have, and a note
    without words is none."""
    document = {
        "lines": [_document(line) for line in lines],
        "notes": [note for note in notes if note["heard"].strip()],
    }
    try:
        return Read(lines, CartDraft.model_validate(document), notes=notes)
    except ValidationError as error:
        problems: dict[int, list[str]] = {}
        for found in error.errors(include_url=False):
            where = found["loc"]
            index = where[1] if where[0] == "lines" and len(where) > 1 and isinstance(where[1], int) else -1
            text = sentence(found["type"], found["msg"], found.get("ctx", {}))
            problems.setdefault(index, []).append(f"{_label(where)}: {text}")
        return Read(lines, None, problems, notes)


@cache
def most(part: str) -> int:
    """The most `lines` or `notes` that a cart may have, from the schema."""
    return int(properties(CartDraft)[part]["maxItems"])


def _line(form: Form, index: str) -> Line:
    at = f"line-{index}-"
    line: Line = {name: form.get(at + name) for name in asked(ItemLine)}
    line |= {"at": index, "heard": form.get(at + "heard"), "options": []}
    for row in _indices(form, f"{at}option-"):
        option = {name: form.get(f"{at}option-{row}-{name}") for name in asked(OptionDraft)}
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
    line["options"] = [o for o in line["options"] if o["at"] != dropped and option_key(o) in offered]
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
            for name, spec in properties(OptionDraft).items()
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


def option_key(option: Line) -> str:
    return f"{option['group']}/{option['id']}" if option.get("id") else ""


def _indices(form: Form, prefix: str = "line-") -> list[str]:
    found = {m[1] for name in form.fields if (m := re.match(rf"{re.escape(prefix)}(\d{{1,3}})-", name))}
    return sorted(found, key=int)


@cache
def properties(model: type[BaseModel]) -> dict[str, Any]:
    return dict(model.model_json_schema()["properties"])


def source(model: type[BaseModel], name: str) -> str | None:
    values = properties(model)[name].get("x-values")
    return None if values is None else str(values)


@cache
def asked(model: type[BaseModel]) -> tuple[str, ...]:
    """Fields to fill in, in an order that reads well: what, then the rest as the schema has it."""
    names = [n for n in properties(model) if (s := source(model, n)) is not None and s not in _KEPT]
    return tuple(sorted(names, key=lambda n: source(model, n) not in ("items", "options")))


def _label(where: tuple[int | str, ...]) -> str:
    named = [part for part in where if isinstance(part, str) and part not in ("lines", "item", "not_on_menu")]
    return " ".join(named) or "cart"
