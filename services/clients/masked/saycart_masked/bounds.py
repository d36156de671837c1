"""Close the objects of a model's JSON Schema, and compute the size of its longest text.

A mask enforces a form but no end: an unbounded `str` or `list` may go on until the server's token limit,
which leaves no answer at all. So every text, number and list needs a bound and a recursive model is refused,
each with its place in the schema and a fix. Unsupported keywords are refused by llguidance when it compiles
the grammar (`output.py`).
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from .errors import UnmaskableModel

Node = dict[str, Any]

MOST_BYTES = 60_000
"""Of a whole answer; ask several times for more."""
BYTES_PER_CHAR = 6
"""Of a JSON string: `\\u001f` is the longest escape that llguidance allows."""
# The lengths of formats with bounded texts.
FORMATS = {"date": 10, "uuid": 36, "ipv4": 15, "ipv6": 45}
# Dates that exist: llguidance's own format allows 2023-02-29 and the year 0.
_LEAP = "(0[48]|[2468][048]|[13579][26])"
_DAY = rf"^(\d*[1-9]\d*-(0[13-9]|1|02-[01]|02-2[0-8])|(\d\d{_LEAP}|{_LEAP}00)-02-29)"
# Keywords that don't constrain the text.
NOTES = frozenset(
    "$comment $defs $schema default deprecated description discriminator examples readOnly title "
    "writeOnly".split()
)
_OPEN = {
    "text": "text without a maximum length: add Field(max_length=…), or use a Literal",
    "list": "list without a maximum length: add Field(max_length=…)",
    "number": "number without bounds: add Field(ge=…, le=…)",
    "fraction": "fraction without a step: add Field(multiple_of=0.01), or use an int",
    "fields": "fields of any name: use a list of models with the name as a field",
    "anything": "any value is allowed here: give it a type",
}


def bounded(schema: Node) -> tuple[Node, int]:
    """Return the schema with closed objects and without annotations, and its longest text's size in bytes.

    An object has only the fields of its model, even if the model accepts or ignores others.

    Raises:
        UnmaskableModel: lists every place without a bound, and the fix.
    """
    walk = _Walk(schema.get("$defs", {}))
    closed, longest = walk.node(schema, "")
    if not walk.problems and longest > MOST_BYTES:
        walk.refuse("", f"an answer could have {longest:,} bytes: lower its bounds to {MOST_BYTES:,} in all")
    if walk.problems:
        raise UnmaskableModel(list(dict.fromkeys(walk.problems)))
    return closed | ({"$defs": walk.closed} if walk.closed else {}), longest


Bounded = tuple[Node, int]
"""A closed node, and the size of its longest text."""


class _Walk:
    """Walks a schema once, and each definition at its first reference."""

    def __init__(self, definitions: Node) -> None:
        self._definitions = definitions
        self._open: list[str] = []
        self._longest: dict[str, int] = {}
        # By keyword, in this order, or by type.
        self._forms = {
            "$ref": self._reference,
            "const": self._value,
            "enum": self._value,
            "anyOf": self._union,
            "oneOf": self._union,
            "boolean": self._literal,
            "null": self._literal,
            "string": self._string,
            "integer": self._number,
            "number": self._number,
            "array": self._array,
            "object": self._object,
        }
        self.closed: Node = {}
        self.problems: list[tuple[str, str]] = []

    def refuse(self, at: str, why: str) -> Bounded:
        self.problems.append((at or "/", _OPEN.get(why, why)))
        return {}, 0

    def node(self, node: Any, at: str) -> Bounded:
        if not isinstance(node, dict):
            return self.refuse(at, "anything")
        node = {key: value for key, value in node.items() if key not in NOTES and not key.startswith("x-")}
        if "patternProperties" in node:
            return self.refuse(at, "fields")
        if isinstance(node.get("type"), list):
            node = {"anyOf": [node | {"type": kind} for kind in node["type"]]}
        closed = self._forms.get(next((key for key in self._forms if key in node), str(node.get("type"))))
        return closed(node, at) if closed else self.refuse(at, "anything")

    def _union(self, node: Node, at: str) -> Bounded:
        # With a discriminator no text matches two branches of a `oneOf`.
        key = "anyOf" if "anyOf" in node else "oneOf"
        closed = [self.node(branch, f"{at}/{key}/{number}") for number, branch in enumerate(node.pop(key))]
        return node | {"anyOf": [branch for branch, _ in closed]}, max(longest for _, longest in closed)

    def _value(self, node: Node, _: str) -> Bounded:
        return node, max(map(_size, node.get("enum", [node.get("const")])), default=0)

    def _literal(self, node: Node, _: str) -> Bounded:
        return node, len("false")

    def _reference(self, node: Node, at: str) -> Bounded:
        name = node["$ref"].removeprefix("#/$defs/")
        if name in self._open:
            return self.refuse(
                at,
                f"{name} contains itself, so an answer could be endless: define a model for each level that "
                f"you need, the last without {name}",
            )
        if name not in self._longest:
            self._open.append(name)
            self.closed[name], self._longest[name] = self.node(self._definitions[name], at)
            self._open.pop()
        return node, self._longest[name]

    def _string(self, node: Node, at: str) -> Bounded:
        if "maxLength" in node:
            return node, BYTES_PER_CHAR * node["maxLength"] + 2
        if node.get("format") in FORMATS:
            existing = {"pattern": _DAY} if node["format"] == "date" else {}
            return existing | node, FORMATS[node["format"]] + 2
        return self.refuse(at, "text")

    def _number(self, node: Node, at: str) -> Bounded:
        least = node.get("minimum", node.get("exclusiveMinimum"))
        most = node.get("maximum", node.get("exclusiveMaximum"))
        if least is None or most is None:
            return self.refuse(at, "number")
        digits = max(len(str(int(end))) for end in (least, most)) + 1  # -0.5 has a sign, int(-0.5) doesn't
        if node["type"] == "integer":
            return node, digits
        if "multipleOf" not in node:
            return self.refuse(at, "fraction")
        return node, digits + 1 + _decimals(node["multipleOf"])

    def _array(self, node: Node, at: str) -> Bounded:
        most = node.get("maxItems")
        if most is None:
            return self.refuse(at, "list")
        first = [self.node(one, f"{at}/{n}") for n, one in enumerate(node.get("prefixItems", ()))]
        longest = 2 + sum(size + 1 for _, size in first)
        closed = {key: value for key, value in node.items() if key != "items"}
        if first:
            closed["prefixItems"] = [one for one, _ in first]
        if most > len(first):
            closed["items"], size = self.node(node.get("items"), f"{at}/*")
            longest += (most - len(first)) * (size + 1)
        return closed, longest

    def _object(self, node: Node, at: str) -> Bounded:
        if "properties" not in node and node.get("additionalProperties"):
            return self.refuse(at, "fields")
        fields, longest = {}, 2
        for name, field in node.get("properties", {}).items():
            fields[name], size = self.node(field, f"{at}/{name}")
            longest += _size(name) + 2 + size
        return node | {"properties": fields, "additionalProperties": False}, longest


def _size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


def _decimals(step: float) -> int:
    return max(0, -int(Decimal(str(step)).normalize().as_tuple().exponent))
