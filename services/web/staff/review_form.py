"""The staff's form for a cart: its fields as text, the choices of its selects, and the draft that they make.

The controls are in `review/cart.html`. Fields are named `line-<n>-<field>`, `line-<n>-option-<m>-<field>` and
`note-<n>-<field>`. What the menu and `schemas/cart.py` allow is checked like any other cart.
"""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass, field

from pydantic import ValidationError

from schemas.cart import (
    MAX_LINES,
    MAX_NOTES,
    MAX_OPTIONS,
    Amount,
    CartDraft,
    ItemLine,
    LineDraft,
    NoteKind,
    Portion,
)
from schemas.field_problems import sentence
from schemas.menu import Item, Menu
from schemas.priced_cart import CartLine
from services.web.pages import Form

ADDED = "added by staff"


@dataclass(frozen=True, slots=True)
class OptionFields:
    """An option in the form; `key` is its group and id, as in `milk/oat`."""

    key: str
    amount: str = Amount.NORMAL
    count: str = "1"
    portion: str = Portion.WHOLE

    @property
    def group(self) -> str:
        return self.key.partition("/")[0]

    @property
    def document(self) -> dict[str, object]:
        named = {"group": self.group, "id": self.key.partition("/")[2]}
        return {**named, "amount": self.amount, "count": _number(self.count), "portion": self.portion}


@dataclass(frozen=True, slots=True)
class LineFields:
    """A line in the form; without `sku` it is not on the menu, without `size` none was said."""

    heard: str
    sku: str = ""
    quantity: str = "1"
    size: str = ""
    options: Sequence[OptionFields] = ()

    @property
    def unchosen(self) -> bool:
        """True of an added line until its item is chosen."""
        return not self.sku and self.heard == ADDED

    @property
    def document(self) -> dict[str, object]:
        kind = "item" if self.sku else "not_on_menu"
        document: dict[str, object] = {"kind": kind, "heard": self.heard, "quantity": _number(self.quantity)}
        if not self.sku:
            return document
        options = [option.document for option in self.options]
        return {**document, "sku": self.sku, "size": self.size or None, "options": options}


@dataclass(frozen=True, slots=True)
class NoteFields:
    """A note in the form; one without words is not kept."""

    kind: str
    heard: str


@dataclass(frozen=True, slots=True)
class FilledForm:
    """A parsed form: its draft, None if it is invalid, and its problems by line (-1: of the cart)."""

    lines: Sequence[LineFields]
    notes: Sequence[NoteFields]
    draft: CartDraft | None
    problems: dict[int, list[str]] = field(default_factory=dict)


def filled_from(draft: CartDraft) -> FilledForm:
    """Return the form of a draft."""
    notes = [NoteFields(note.kind, note.heard) for note in draft.notes]
    return FilledForm([_fields(line) for line in draft.lines], notes, draft)


def _fields(line: LineDraft) -> LineFields:
    if not isinstance(line, ItemLine):
        return LineFields(line.heard, quantity=str(line.quantity))
    options = [OptionFields(f"{o.group}/{o.id}", o.amount, str(o.count), o.portion) for o in line.options]
    return LineFields(line.heard, line.sku, str(line.quantity), line.size or "", options)


def read(form: Form, menu: Menu) -> FilledForm:
    """Parse the form, and apply the pressed button: `add`, `remove`, `remove-note` or `drop` (an option)."""
    lines = [_line(form, n, menu) for n in _numbers(form, "line-") if n != form.get("remove")]
    if form.get("add") == "line" and len(lines) < MAX_LINES:
        lines.append(LineFields(ADDED))
    notes = [
        NoteFields(form.get(f"note-{n}-kind"), form.get(f"note-{n}-heard"))
        for n in _numbers(form, "note-")
        if n != form.get("remove-note")
    ]
    if form.get("add") == "note" and len(notes) < MAX_NOTES:
        notes.append(NoteFields(NoteKind.PREPARATION, ""))
    document = {
        "lines": [line.document for line in lines],
        "notes": [{"kind": note.kind, "heard": note.heard} for note in notes if note.heard],
    }
    try:
        return FilledForm(lines, notes, CartDraft.model_validate(document))
    except ValidationError as error:
        return FilledForm(lines, notes, None, _problems(error))


def _line(form: Form, number: str, menu: Menu) -> LineFields:
    """Parse a line, without the size and the options that its item doesn't have."""
    at = f"line-{number}"
    item = menu.item(form.get(f"{at}-sku"))
    offered = {f"{g.id}/{o.id}" for g in (menu.groups_of(item) if item else ()) for o in g.options}
    options = [
        _option(form, f"{at}-option-{row}")
        for row in _numbers(form, f"{at}-option-")
        if f"{number}-{row}" != form.get("drop")
    ]
    options.append(OptionFields(form.get(f"{at}-more")))
    size = form.get(f"{at}-size")
    return LineFields(
        heard=form.get(f"{at}-heard"),
        sku=form.get(f"{at}-sku"),
        quantity=form.get(f"{at}-quantity"),
        size=size if item and size in item.size_ids else "",
        options=[option for option in options if option.key in offered],
    )


def _option(form: Form, at: str) -> OptionFields:
    given = {name: form.get(f"{at}-{name}") for name in ("amount", "count", "portion")}
    return OptionFields(form.get(f"{at}-id"), **{name: text for name, text in given.items() if text})


def _number(text: str) -> int | str:
    # Anything else is left for the schema to refuse, which names the field.
    return int(text) if re.fullmatch(r"\d{1,6}", text, re.ASCII) else text


def _numbers(form: Form, prefix: str) -> list[str]:
    found = {m[1] for name in form.fields if (m := re.match(rf"{re.escape(prefix)}(\d{{1,3}})-", name))}
    return sorted(found, key=int)


def _problems(error: ValidationError) -> dict[int, list[str]]:
    problems: dict[int, list[str]] = {}
    for fault in error.errors(include_url=False):
        part, *where = fault["loc"]
        line = where[0] if part == "lines" and where and isinstance(where[0], int) else -1
        named = [name for name in fault["loc"] if isinstance(name, str)]
        label = " ".join(name for name in named if name not in ("lines", "item", "not_on_menu")) or "cart"
        text = sentence(fault["type"], fault["msg"], fault.get("ctx", {}))
        problems.setdefault(line, []).append(f"{label}: {text}")
    return problems


Groups = dict[str, dict[str, str]]
"""The entries of a select, values with their labels, by group."""


@dataclass(frozen=True, slots=True)
class OptionRow:
    """An option of a line, what it may be changed to, and whether it may go on a half."""

    filled: OptionFields
    choices: Groups
    halves: bool


@dataclass(frozen=True, slots=True)
class LineView:
    """A line of the form: the sizes of its item, if it has any, a row for each option, and the options that
    may be added; its price, None if it has none, and its problems."""

    filled: LineFields
    sizes: dict[str, str]
    options: tuple[OptionRow, ...]
    more: Groups
    priced: CartLine | None
    problems: Sequence[str]


def line_view(line: LineFields, menu: Menu, priced: CartLine | None, problems: Sequence[str]) -> LineView:
    """Return a line of the form with its choices."""
    item = menu.item(line.sku)
    rows = tuple(
        OptionRow(chosen, _options(item, menu, chosen.key), _halves(chosen, menu)) for chosen in line.options
    )
    rest = _options(item, menu, without={chosen.key for chosen in line.options})
    sizes = _sizes(item, menu, line.size) if item and item.prices else {}
    return LineView(line, sizes, rows, rest if len(rows) < MAX_OPTIONS else {}, priced, problems)


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
