"""The schema of the wire format: a small tree, derived from the JSON Schema of `CartDraft`.

    {"lines":[{"item":"Latte","quantity":2,"options":["oat milk",{"option":"foam","amount":"none"}]},
              {"not_on_menu":"a spaceship"}],
     "notes":[{"allergy":"I'm allergic to nuts"}]}

The same model in half as many tokens. Four rules are read from the schema, so that a new field is written,
masked and read without a change here:

1. A line's `kind` is the key of its first field, so that it is decoded first. The same holds for a note's
   kind, and for any field that an `x-key-from` names.
2. Menu names replace ids. Fields with `x-named-by` follow from another field's name, and fields with
   `x-aligned` are found later; neither is written.
3. A field at its default, or at `x-implied`, is omitted. A number may be written nevertheless: a model that
   means 1 and may not write it would be driven to 10.
4. An object with `x-key` and only its first field is written as that field's value: most options are strings.

`wire.py` writes and reads the format, `wire_mask.py` builds its grammar. Bounds are the schema's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from schemas.cart import SCHEMA

Schema = Mapping[str, Any]
MenuPart = Literal["items", "sizes", "options"]
_MENU_PARTS: tuple[MenuPart, ...] = ("items", "sizes", "options")
_KEYWORDS = frozenset(
    "additionalProperties anyOf const default description discriminator enum items maximum maxItems "
    "maxLength minimum minLength oneOf properties required title type x-aligned x-each x-implied "
    "x-key x-named-by x-key-from x-values x-where".split()
)


@dataclass(frozen=True, slots=True)
class MenuName:
    """The name of an item, size or option."""

    part: MenuPart


@dataclass(frozen=True, slots=True)
class Value:
    """A piece of the transcript, a whole number or one of a few strings, by its JSON Schema."""

    schema: Schema


@dataclass(frozen=True, slots=True)
class Array:
    """At most `max_items` elements; at least one if `nonempty`, since an empty one is omitted."""

    element: Node
    max_items: int
    nonempty: bool


@dataclass(frozen=True, slots=True)
class Field:
    """A field of an object: its name in the model, its key in the wire format, and the value that an omitted
    (`optional`) field has. With `group_flag` only options of groups with this flag have the field."""

    name: str
    key: str
    node: Node
    optional: bool = False
    implied: Any = None
    group_flag: str | None = None


@dataclass(frozen=True, slots=True)
class Object:
    """Fields in writing order, and name and value of the discriminator (`kind`). With `shorthand` the first
    field's value may replace the object; with `per_item` the grammar has a variant for each shape of item."""

    title: str
    fields: tuple[Field, ...]
    kind: tuple[str, str] | None = None
    shorthand: bool = False
    per_item: bool = False


@dataclass(frozen=True, slots=True)
class Union:
    """One of several objects, distinguished by their first key."""

    objects: tuple[Object, ...]


Node = MenuName | Value | Array | Object | Union


def wire_schema(schema: Schema) -> Object:
    """Return the tree of a draft's JSON Schema.

    Raises:
        TypeError: a part of the schema has no wire format.
    """
    return _SchemaWalker(schema).object(schema)


class _SchemaWalker:
    def __init__(self, schema: Schema) -> None:
        self._definitions: Schema = schema.get("$defs", {})

    def object(self, schema: Schema, kind: tuple[str, str] | None = None) -> Object:
        properties = dict(schema["properties"])
        if kind is not None:
            del properties[kind[0]]
        key = kind[1] if kind else schema.get("x-key")
        fields: list[Field] = []
        for name, part in properties.items():
            if not (part.get("x-aligned") or part.get("x-named-by")):
                fields.append(self._field(name, part, key if key and not fields else name))
        return Object(
            schema["title"], tuple(fields), kind, "x-key" in schema, schema.get("x-each") == "items"
        )

    def _field(self, name: str, schema: Schema, key: str) -> Field:
        optional = "default" in schema or "x-implied" in schema
        implied = schema.get("default", schema.get("x-implied"))
        return Field(name, key, self._node(schema, implied), optional, implied, schema.get("x-where"))

    def _node(self, schema: Schema, implied: Any) -> Node:
        schema = self._resolved(schema)
        values = schema.get("x-values")
        if values in _MENU_PARTS:
            return MenuName(values)
        if "enum" in schema:
            return Value({"enum": [value for value in schema["enum"] if value != implied]})
        if values == "transcript" or schema.get("type") == "integer":
            return Value(schema)
        if schema.get("type") == "array":
            return Array(self._element(schema["items"]), schema["maxItems"], nonempty="default" in schema)
        raise TypeError(f"No wire format for this part of CartDraft: {schema}")

    def _element(self, schema: Schema) -> Node:
        """Return the node of an array's elements: one object, or a union with the kind first."""
        if "oneOf" in schema:
            name = schema["discriminator"]["propertyName"]
            members = map(self._resolved, schema["oneOf"])
            return Union(tuple(self.object(m, (name, m["properties"][name]["const"])) for m in members))
        schema = self._resolved(schema)
        if name := schema.get("x-key-from"):
            values = self._resolved(schema["properties"][name])["enum"]
            return Union(tuple(self.object(schema, (name, value)) for value in values))
        return self.object(schema)

    def _resolved(self, schema: Schema) -> Schema:
        if "$ref" in schema:
            named = self._definitions[schema["$ref"].rsplit("/", 1)[1]]
            schema = {**named, **{key: value for key, value in schema.items() if key != "$ref"}}
        if unknown := schema.keys() - _KEYWORDS:
            raise TypeError(f"No wire format for {', '.join(sorted(unknown))}: {schema}")
        return schema


CART = wire_schema(SCHEMA)
