"""Write drafts in the wire format (`wire_schema.py`), and read them back, with a menu's names."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from schemas.cart import Line, NoteDraft
from schemas.menu import Item
from schemas.menus.nesting import unplaced
from services.decoding.menu_names import Names, Unreadable
from services.decoding.wire_schema import CART, Array, Field, MenuName, Node, Object, Union

Part = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class WireCart:
    """The lines and notes of a wire text."""

    lines: list[Line]
    notes: tuple[NoteDraft, ...] = ()


def write(lines: Iterable[Line], names: Names, notes: Iterable[NoteDraft] = ()) -> str:
    """Return a draft as compact JSON. Lines that are not on the menu need `heard`."""
    cart = {"lines": list(lines), "notes": [note.model_dump(mode="json") for note in notes]}
    return json.dumps(_dump(CART, cart, _Scope(names)), ensure_ascii=False, separators=(",", ":"))


def read_cart(text: str, names: Names) -> WireCart:
    """Return the lines and notes of compact JSON that the mask accepts.

    Raises:
        Unreadable: it is not JSON, such as a truncated answer, or not a cart of this menu.
    """
    try:
        cart = _load(CART, json.loads(text), _Scope(names))
        return WireCart(cart["lines"], tuple(NoteDraft(**note) for note in cart["notes"]))
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise Unreadable(f"not a cart of this menu: {error!r:.200}") from None


@dataclass(frozen=True, slots=True)
class _Scope:
    """A menu's names, and the item whose fields are being written or read."""

    names: Names
    item: Item | None = None

    def within(self, fields: Part) -> _Scope:
        """Return the scope of an object's other fields: its item's, if it has one."""
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

    def resolve(self, part: str, wire: str) -> Part | str:
        """Return the id that a name stands for, or an option's `group` and `id`; raises KeyError."""
        if part == "items":
            known: dict[str, Part | str] = {name: sku for sku, name in self.names.items.items()}
        elif part == "sizes":
            own = self.item.size_ids if self.item else ()
            known = {name: size for size, name in self.names.sizes.items() if size in own}
        else:
            readable = self.names.readable(self.item) if self.item else ()
            known = {o.name: {"group": o.group, "id": o.id} for o in readable}
        return known[wire]


def _dump(node: Node, value: Any, scope: _Scope, fields: Part | None = None) -> Any:
    match node:
        case MenuName(part):
            return scope.name_of(part, fields or {}, value)
        case Array(element):
            return [_dump(element, each, scope) for each in value]
        case Union(objects):
            kind = value.get("kind") or ("item" if value.get("sku") else "not_on_menu")
            return _dump(next(o for o in objects if o.kind and o.kind[1] == kind), value, scope)
        case Object():
            return _dump_object(node, value, scope)
    return value


def _dump_object(node: Object, value: Part, scope: _Scope) -> Any:
    inner = scope.within(value)
    wire = {
        field.key: _dump(field.node, value[field.name], inner, value)
        for field in node.fields
        if not (field.optional and _at_default(field, value))
    }
    if node.shorthand and len(wire) == 1 and node.fields[0].key in wire:
        return wire[node.fields[0].key]
    return wire


def _at_default(field: Field, value: Part) -> bool:
    given = value.get(field.name, field.implied)
    return bool(given == field.implied or (isinstance(field.node, Array) and not given))


def _load(node: Node, wire: Any, scope: _Scope) -> Any:
    match node:
        case MenuName(part):
            return scope.resolve(part, wire)
        case Array(element):
            return [_load(element, each, scope) for each in wire]
        case Union(objects):
            by_kind = {one.fields[0].key: one for one in objects}
            return _load_object(by_kind[next(iter(wire), "")], wire, scope)
        case Object():
            return _load_object(node, wire, scope)
    return wire


def _load_object(node: Object, wire: Any, scope: _Scope) -> dict[str, Any]:
    written = wire if isinstance(wire, dict) else {node.fields[0].key: wire}
    loaded: dict[str, Any] = {node.kind[0]: node.kind[1]} if node.kind else {}
    for field in node.fields:
        value = _load(field.node, written[field.key], scope) if field.key in written else field.implied
        named = isinstance(field.node, MenuName) and isinstance(value, dict)
        loaded |= value if named else {field.name: value}
        scope = scope.within(loaded)
    return loaded
