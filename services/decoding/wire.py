"""Write a draft in the compact spelling, and read one back, with the names of a menu (`spelling.py`)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from schemas.cart import Line, NoteDraft
from schemas.menu import Item
from schemas.menus.nesting import unplaced
from services.decoding.menu_names import Names, Unreadable
from services.decoding.spelling import (
    CART,
    Array,
    Field,
    Integer,
    MenuName,
    Node,
    Object,
    OneOf,
    Union,
    Words,
)

Part = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class WireCart:
    """What a compact JSON text says."""

    lines: list[Line]
    notes: tuple[NoteDraft, ...] = ()


def write(lines: Iterable[Line], names: Names, notes: Iterable[NoteDraft] = ()) -> str:
    """The lines and notes of a draft as compact JSON, on one line. A wish off the menu has `heard`, its
    words."""
    cart = {"lines": list(lines), "notes": [note.model_dump(mode="json") for note in notes]}
    return json.dumps(_spelled(CART, cart, _Scope(names)), ensure_ascii=False, separators=(",", ":"))


def read_cart(text: str, names: Names) -> WireCart:
    """What a compact JSON text stands for.

    Raises:
        Unreadable: it is not JSON, or a key, name or number is not one of this menu's carts.
    """
    try:
        document = json.loads(text)
    except ValueError as error:
        raise Unreadable(f"not JSON: {error}") from None
    cart = _read(CART, document, _Scope(names))
    try:
        return WireCart(cart["lines"], tuple(NoteDraft(**note) for note in cart["notes"]))
    except ValidationError as error:
        raise Unreadable(f"not a note: {error}") from None


class _Scope:
    """The names of one menu, and of the item whose fields are being written or read."""

    def __init__(self, names: Names, item: Item | None = None) -> None:
        self.names = names
        self.item = item

    def within(self, fields: Part) -> _Scope:
        """The scope of the other fields of an object: those of its item, where it has one."""
        sku = fields.get("sku")
        return _Scope(self.names, self.names.menu.item(sku)) if sku is not None else self

    def name_of(self, part: str, fields: Part, value: str) -> str:
        if part == "items":
            return self.names.items[value]
        if part == "sizes":
            return self.names.sizes[value]
        group = fields["group"]
        choices = self.names.choices(self.item) if self.item else ()
        return next(o.name for o in choices if o.id == value and group in (o.group, unplaced(o.group)))

    def named(self, part: str, name: str) -> Part | str:
        """What a name stands for: an id, or for an option its `group` and `id`. Raises Unreadable."""
        if part == "items":
            known: dict[str, Part | str] = {called: sku for sku, called in self.names.items.items()}
        elif part == "sizes":
            own = self.item.size_ids if self.item else ()
            known = {called: size for size, called in self.names.sizes.items() if size in own}
        else:
            readable = self.names.readable(self.item) if self.item else ()
            known = {o.name: {"group": o.group, "id": o.id} for o in readable}
        if not isinstance(name, str) or name not in known:
            raise Unreadable(f"none of the {part} here is called {name!r}")
        return known[name]

    def offers(self, field: Field, fields: Part) -> bool:
        """Whether an option has a field: its group has the mark that the field asks for."""
        group = self.names.menu.group(fields["group"]) if field.where else None
        return group is None or bool(getattr(group, str(field.where)))


def _spelled(node: Node, value: Any, scope: _Scope, fields: Part | None = None) -> Any:
    match node:
        case MenuName(part):
            return scope.name_of(part, fields or {}, value)
        case Array(each):
            return [_spelled(each, one, scope) for one in value]
        case Union(objects):
            kind = value.get("kind") or ("item" if value.get("sku") else "not_on_menu")
            return _spelled(next(o for o in objects if o.kind and o.kind[1] == kind), value, scope)
        case Object():
            return _spelled_object(node, value, scope)
    return value


def _spelled_object(node: Object, value: Part, scope: _Scope) -> Any:
    inner = scope.within(value)
    spelled = {
        field.key: _spelled(field.node, value[field.name], inner, value)
        for field in node.fields
        if not (field.optional and _at_default(field, value))
    }
    if node.bare and len(spelled) == 1 and node.fields[0].key in spelled:
        return spelled[node.fields[0].key]
    return spelled


def _at_default(field: Field, value: Part) -> bool:
    given = value.get(field.name, field.implied)
    return bool(given == field.implied or (isinstance(field.node, Array) and not given))


def _read(node: Node, spelled: Any, scope: _Scope) -> Any:
    match node:
        case MenuName(part):
            return scope.named(part, spelled)
        case Array(each):
            _expect(isinstance(spelled, list), spelled)
            return [_read(each, one, scope) for one in spelled]
        case Union(objects):
            return _read_object(_of_kind(objects, spelled), spelled, scope)
        case Object():
            return _read_object(node, spelled, scope)
        case Integer(least, most):
            _expect(type(spelled) is int and least <= spelled <= most, spelled)
        case OneOf(values):
            _expect(spelled in values, spelled)
        case Words(longest):
            _expect(isinstance(spelled, str) and 0 < len(spelled) <= longest, spelled)
    return spelled


def _of_kind(objects: tuple[Object, ...], spelled: Any) -> Object:
    """The object that a text's first key names."""
    _expect(isinstance(spelled, dict) and bool(spelled), spelled)
    first = next(iter(spelled))
    for one in objects:
        if one.fields[0].key == first:
            return one
    raise Unreadable(f"a line or note begins with its kind, not {first!r}")


def _read_object(node: Object, spelled: Any, scope: _Scope) -> dict[str, Any]:
    if node.bare and isinstance(spelled, str):
        spelled = {node.fields[0].key: spelled}
    _expect(isinstance(spelled, dict) and spelled.keys() <= {field.key for field in node.fields}, spelled)
    made: dict[str, Any] = {node.kind[0]: node.kind[1]} if node.kind else {}
    for field in node.fields:
        if field.key not in spelled:
            if not field.optional:
                raise Unreadable(f"{field.key!r} is missing in {spelled!r}")
            made[field.name] = field.implied
            continue
        _expect(scope.offers(field, made), spelled)
        value = _read(field.node, spelled[field.key], scope)
        made |= value if isinstance(field.node, MenuName) and isinstance(value, dict) else {field.name: value}
        scope = scope.within(made)
    return made


def _expect(holds: bool, spelled: Any) -> None:
    if not holds:
        raise Unreadable(f"not allowed here: {spelled!r:.80}")
