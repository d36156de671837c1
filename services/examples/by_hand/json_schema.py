"""A small subset of JSON Schema -> frames of the machine in `json_machine`. The rest is refused in words.

Read: `object` (every key required, none beside them, written in the schema's order), `array` (with maxItems),
`string` (with maxLength), `integer` (with minimum and maximum), `boolean`, `null`, `enum`, `const`, and
`$ref` to `#/$defs/NAME`, also to itself. JSON without spaces between its parts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NoReturn

from schemas.errors import InputError
from services.examples.by_hand.json_machine import Array, Frame, Integer, Object, Reference, String, Texts

_NOTES = {"title", "description", "default", "examples", "$defs", "$schema"}
_KEYWORDS = {
    "object": {"type", "properties", "required", "additionalProperties"},
    "array": {"type", "items", "minItems", "maxItems"},
    "string": {"type", "minLength", "maxLength"},
    "integer": {"type", "minimum", "maximum"},
    "boolean": {"type"},
    "null": {"type"},
    "enum": {"enum", "type"},
    "const": {"const", "type"},
    "$ref": {"$ref"},
}
_DEFINITIONS = "#/$defs/"


def read_schema(schema: Mapping[str, Any]) -> Frame:
    """The root's frame, for `JsonMachine`.

    Raises:
        InputError: outside the subset, or a definition that no finite text satisfies.
    """
    names = schema.get("$defs", {})
    rules: dict[str, Frame] = dict.fromkeys(
        names, Texts((b"",))
    )  # to be filled: a name may come before its turn
    for name, node in names.items():
        rules[name] = _frame(node, f"/$defs/{name}", rules)
    for name, frame in rules.items():
        if isinstance(frame, Reference):
            _refuse(f"/$defs/{name}", "a definition that is only a $ref: name the other one directly")
    root = _frame(schema, "", rules)
    ends: set[str] = set()
    while new := {name for name, frame in rules.items() if name not in ends and _ends(frame, ends)}:
        ends |= new
    for name in rules.keys() - ends:
        _refuse(f"/$defs/{name}", "it holds itself without a way out: let some array of it be empty")
    return root


def _refuse(pointer: str, why: str) -> NoReturn:
    raise InputError(f"The schema can't be used at {pointer or 'its root'}: {why}")


def _frame(node: Mapping[str, Any], pointer: str, rules: Mapping[str, Frame]) -> Frame:
    kind = next((k for k in ("$ref", "enum", "const") if k in node), node.get("type"))
    if not isinstance(kind, str) or kind not in _KEYWORDS:
        _refuse(pointer, f"the type {kind!r} is not read (one of {', '.join(_KEYWORDS)} is)")
    if unknown := node.keys() - _KEYWORDS[kind] - _NOTES:
        _refuse(pointer, f"{', '.join(sorted(unknown))} is not read for {kind}")
    match kind:
        case "$ref":
            name = node["$ref"].removeprefix(_DEFINITIONS)
            if name not in rules:
                _refuse(pointer, f"{node['$ref']} names no definition under {_DEFINITIONS}")
            return Reference(name, rules)
        case "object":
            return _object(node, pointer, rules)
        case "array":
            least, most = _bounds(node, "minItems", "maxItems", pointer)
            if "items" not in node:
                _refuse(pointer, "an array needs items")
            return Array(_frame(node["items"], f"{pointer}/items", rules), least, most)
        case "string":
            return String(*_bounds(node, "minLength", "maxLength", pointer))
        case "integer":
            return Integer(*_bounds(node, "minimum", "maximum", pointer))
        case "boolean":
            return _texts([True, False])
        case "null":
            return _texts([None])
        case "const":
            return _texts([node["const"]])
        case _:
            return _texts(node["enum"]) if node["enum"] else _refuse(pointer, "an enum without values")


def _object(node: Mapping[str, Any], pointer: str, rules: Mapping[str, Frame]) -> Object:
    fields = node.get("properties", {})
    if node.get("additionalProperties") is not False:
        _refuse(pointer, "other keys would be allowed: say additionalProperties: false")
    if set(node.get("required", ())) != fields.keys():
        _refuse(pointer, "every key, and no other, has to be listed in required")
    inside = [
        (_text(key), _frame(value, f"{pointer}/properties/{key}", rules)) for key, value in fields.items()
    ]
    return Object(tuple(inside))


def _bounds(node: Mapping[str, Any], least: str, most: str, pointer: str) -> tuple[int, int]:
    """Both bounds. The upper one is a must: without it an answer may run on until the token limit."""
    low = node.get(least, None if least == "minimum" else 0)
    high = node.get(most)
    if type(low) is not int or type(high) is not int:
        _refuse(pointer, f"give whole numbers for {least} and {most}: without bounds an answer need not end")
    if not low <= high:
        _refuse(pointer, f"{least} is greater than {most}")
    return low, high


def _text(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _texts(values: list[Any]) -> Texts:
    return Texts(tuple(dict.fromkeys(map(_text, values))))


def _ends(frame: Frame, ends: set[str]) -> bool:
    """Has `frame` a finite text, if the definitions in `ends` have?"""
    match frame:
        case Reference():
            return frame.name in ends
        case Object():
            return all(_ends(value, ends) for _, value in frame.fields)
        case Array():
            return frame.low == 0 or _ends(frame.item, ends)
        case _:
            return True
