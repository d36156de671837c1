"""The compact spelling of `CartDraft`: its shape as a small tree, made by walking the Pydantic schema.

    {"lines":[{"item":"Latte","quantity":2,"options":["oat milk",{"option":"foam","amount":"none"}]},
              {"not_on_menu":"a spaceship"}],
     "notes":[{"allergy":"I'm allergic to nuts"}]}

It is the same model in JSON that takes a decoder half the tokens. Four rules, all read off the schema, so
that a new field is spelled, masked and read without a word here:

1. A line's `kind` is the key of its first field, so that it is decided before all else. So is a note's, as
   the value of the field that `x-key-from` names is in any object.
2. The menu's names stand for its ids. `x-named-by` fields are known by another's name, `x-aligned` ones are
   found afterwards; neither is written.
3. A field at its default, or at `x-implied`, is left out. A number may be spelled out all the same: a model
   that means 1 and may not write it would be driven to 10.
4. An object with an `x-key` that has only its first field is that field's value: most options are a string.

`wire.py` writes and reads it, `wire_mask.py` makes the grammar. The tree's bounds are those of the schema.
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
    """A name that the menu has for one of its items, sizes or options."""

    part: MenuPart


@dataclass(frozen=True, slots=True)
class Words:
    """An exact piece of the transcript, of at most `longest` characters."""

    longest: int


@dataclass(frozen=True, slots=True)
class Integer:
    """A whole number from `least` to `most`."""

    least: int
    most: int


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of a few strings."""

    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Array:
    """At most `most` of one node; `some` where an empty one is left out."""

    each: Node
    most: int
    some: bool


@dataclass(frozen=True, slots=True)
class Field:
    """A field of an object: its name in the model, its key in the spelling, and the value that it has when it
    is left out (`optional`). Only options of groups with the mark `where` have it."""

    name: str
    key: str
    node: Node
    optional: bool = False
    implied: Any = None
    where: str | None = None


@dataclass(frozen=True, slots=True)
class Object:
    """Fields in the order of writing. `kind` is the discriminator's name and value, `bare` whether the first
    field's value may stand alone, `per_item` whether the object is written once for each item of the menu."""

    title: str
    fields: tuple[Field, ...]
    kind: tuple[str, str] | None = None
    bare: bool = False
    per_item: bool = False


@dataclass(frozen=True, slots=True)
class Union:
    """One of several objects, distinguished by their first key."""

    objects: tuple[Object, ...]


Node = MenuName | Words | Integer | OneOf | Array | Object | Union


def spelling_of(schema: Schema) -> Object:
    """The tree of a draft's JSON Schema.

    Raises:
        TypeError: a part of the schema has no spelling.
    """
    return _Walk(schema).object(schema)


class _Walk:
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
        if values == "transcript":
            return Words(schema["maxLength"])
        if schema.get("type") == "integer":
            return Integer(schema["minimum"], schema["maximum"])
        if "enum" in schema:
            return OneOf(tuple(value for value in schema["enum"] if value != implied))
        if schema.get("type") == "array":
            return Array(self._element(schema["items"]), schema["maxItems"], some="default" in schema)
        raise TypeError(f"No compact spelling for this part of CartDraft: {schema}")

    def _element(self, schema: Schema) -> Node:
        """An object of a list, or one of several, each with its kind before all else."""
        if "oneOf" in schema:
            name = schema["discriminator"]["propertyName"]
            ways = map(self._resolved, schema["oneOf"])
            return Union(tuple(self.object(one, (name, one["properties"][name]["const"])) for one in ways))
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
            raise TypeError(f"No compact spelling for {', '.join(sorted(unknown))}: {schema}")
        return schema


CART = spelling_of(SCHEMA)
