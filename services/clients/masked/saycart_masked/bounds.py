"""A model's JSON Schema -> the same with closed objects, and the longest text that it allows.

A mask holds a model to a form, and not to an end: an open `str` or `list` may go on until the server's token
limit, and then there is no answer at all. So every text, number and list needs a bound, and a model within
itself is refused, each with its place in the schema and what to write in its stead. What llguidance can't
hold it refuses itself when the grammar is compiled (`output.py`).
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from .errors import UnmaskableModel

Node = dict[str, Any]

MOST_BYTES = 60_000
"""Of a whole answer: a model that writes more than this is rather asked several times."""
BYTES_A_SIGN = 6
"""Of one character in a JSON string: `\\u001f` is the longest spelling that llguidance allows."""
# The longest text of each format of which no text is long.
FORMATS = {"date": 10, "uuid": 36, "ipv4": 15, "ipv6": 45}
# Of the texts that llguidance takes for a day, those that are: not 2023-02-29, not the year 0.
_LEAP = "(0[48]|[2468][048]|[13579][26])"
_DAY = rf"^(\d*[1-9]\d*-(0[13-9]|1|02-[01]|02-2[0-8])|(\d\d{_LEAP}|{_LEAP}00)-02-29)"
# Keywords that decide what may be written, whatever the type, in this order.
_FORMS = ("$ref", "const", "enum", "anyOf", "oneOf")
# Keywords that say nothing of what may be written.
NOTES = frozenset(
    "$comment $defs $schema default deprecated description discriminator examples readOnly title "
    "writeOnly".split()
)
_OPEN = {
    "text": "a text without an end: Field(max_length=…), or a Literal",
    "list": "a list without an end: Field(max_length=…)",
    "number": "a number without an end: Field(ge=…, le=…)",
    "fraction": "a fraction without an end: Field(multiple_of=0.01), or use an int",
    "fields": "fields of any name: use a list of models with the name as a field",
    "anything": "anything at all may stand here: give it a type",
}


def bounded(schema: Node) -> tuple[Node, int]:
    """The schema with its objects closed and without notes, and its longest text's size in bytes.

    An object has the fields that its model names and no others, whatever the model does with others.

    Raises:
        UnmaskableModel: with every place that has no bound, and what to write there.
    """
    walk = _Walk(schema.get("$defs", {}))
    closed, longest = walk.node(schema, "")
    if not walk.problems and longest > MOST_BYTES:
        walk.refuse("", f"an answer could have {longest:,} bytes; lower its bounds to {MOST_BYTES:,} in all")
    if walk.problems:
        raise UnmaskableModel(list(dict.fromkeys(walk.problems)))
    return closed | ({"$defs": walk.closed} if walk.closed else {}), longest


Bounded = tuple[Node, int]
"""A closed node, and the size of its longest text."""


class _Walk:
    """One walk of one schema, and each definition where it is first named."""

    def __init__(self, definitions: Node) -> None:
        self._definitions = definitions
        self._within: list[str] = []
        self._longest: dict[str, int] = {}
        # By keyword or by type.
        self._forms = {
            "$ref": self._named,
            "const": self._value,
            "enum": self._value,
            "anyOf": self._union,
            "oneOf": self._union,
            "boolean": self._word,
            "null": self._word,
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
        form = next((key for key in _FORMS if key in node), node.get("type"))
        if isinstance(form, list):
            return self._either([node | {"type": kind} for kind in form], f"{at}/type")
        closed = self._forms.get(form) if isinstance(form, str) else None
        return closed(node, at) if closed else self.refuse(at, "anything")

    def _either(self, branches: list[Any], at: str) -> Bounded:
        # Where a field tells the branches of a `oneOf` apart no text fits two of them.
        ways = [self.node(one, f"{at}/{number}") for number, one in enumerate(branches)]
        return {"anyOf": [one for one, _ in ways]}, max(longest for _, longest in ways)

    def _union(self, node: Node, at: str) -> Bounded:
        key = "anyOf" if "anyOf" in node else "oneOf"
        way, longest = self._either(node.pop(key), f"{at}/{key}")
        return node | way, longest

    def _value(self, node: Node, _: str) -> Bounded:
        return node, max(map(_spelled, node.get("enum", [node.get("const")])), default=0)

    def _word(self, node: Node, _: str) -> Bounded:
        return node, len("false")

    def _named(self, node: Node, at: str) -> Bounded:
        path = node["$ref"]
        name = path.removeprefix("#/$defs/")
        if name not in self._definitions:
            return self.refuse(at, f"{path} is not in the schema's own $defs: write it there")
        if name in self._within:
            return self.refuse(
                at,
                f"{name} holds itself, so that an answer need have no end: write out as many levels as you "
                f"need, each a model of its own, the last without {name}",
            )
        if name not in self._longest:
            self._within.append(name)
            self.closed[name], self._longest[name] = self.node(self._definitions[name], at)
            self._within.pop()
        return node | {"$ref": f"#/$defs/{name}"}, self._longest[name]

    def _string(self, node: Node, at: str) -> Bounded:
        if "maxLength" in node:
            return node, BYTES_A_SIGN * node["maxLength"] + 2
        if node.get("format") in FORMATS:
            day = {"pattern": _DAY} if node["format"] == "date" else {}
            return day | node, FORMATS[node["format"]] + 2
        return self.refuse(at, "text")

    def _number(self, node: Node, at: str) -> Bounded:
        least = node.get("minimum", node.get("exclusiveMinimum"))
        most = node.get("maximum", node.get("exclusiveMaximum"))
        if least is None or most is None:
            return self.refuse(at, "number")
        digits = max(len(str(int(end))) for end in (least, most)) + 1  # -0.5 has a sign that -0 has not
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
        longest = 2 + sum(long + 1 for _, long in first)
        closed = {key: value for key, value in node.items() if key != "items"}
        if first:
            closed["prefixItems"] = [one for one, _ in first]
        if most > len(first):
            closed["items"], long = self.node(node.get("items"), f"{at}/*")
            longest += (most - len(first)) * (long + 1)
        return closed, longest

    def _object(self, node: Node, at: str) -> Bounded:
        if "properties" not in node and node.get("additionalProperties"):
            return self.refuse(at, "fields")
        fields, longest = {}, 2
        for name, field in node.get("properties", {}).items():
            fields[name], long = self.node(field, f"{at}/{name}")
            longest += _spelled(name) + 2 + long
        return node | {"properties": fields, "additionalProperties": False}, longest


def _spelled(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


def _decimals(step: float) -> int:
    return max(0, -int(Decimal(str(step)).normalize().as_tuple().exponent))
