"""A model's JSON Schema -> the same, closed and bounded, and the longest text that it allows.

A mask holds a model to a form, and not to an end: an open `str` or `list` may go on until the server's token
limit, and then there is no answer at all. So every text, number and list needs a bound, in the model or given
next to it, and what could go on for ever by itself (a model within itself) is refused. What llguidance can't
hold is refused as well, each with its place in the schema and what to write in its stead; what only it can
tell (a pattern with look-ahead) is found when the grammar is compiled (`output.py`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from schemas.errors import UnmaskableSchema
from schemas.writable import writable

Node = dict[str, Any]

MOST_BYTES = 60_000
"""Of a whole answer: a model that writes more than this is rather asked several times."""
BYTES_A_SIGN = 6
"""Of one character in a JSON string: `\\u001f` is the longest spelling that llguidance allows."""
# The longest text of each format of which no text is long; and the others that llguidance knows.
FORMATS = {"date": 10, "uuid": 36, "ipv4": 15, "ipv6": 45}
LONG_FORMATS = frozenset({"date-time", "time", "duration", "email", "hostname", "uri"})
# They say nothing of what may be written.
NOTES = frozenset(
    "$comment $defs $schema default deprecated description discriminator examples readOnly title "
    "writeOnly".split()
)
HELD: dict[str, frozenset[str]] = {
    "string": frozenset({"maxLength", "minLength", "pattern", "format"}),
    "integer": frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}),
    "number": frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}),
    "boolean": frozenset(),
    "null": frozenset(),
    "array": frozenset({"items", "prefixItems", "minItems", "maxItems"}),
    "object": frozenset({"properties", "required", "additionalProperties"}),
}
# What to write in place of what no mask holds.
INSTEAD = {
    "uniqueItems": "a mask can't hold a set: use a list with max_length, and look for doubles in a validator",
    "not": "say what is allowed instead, as a Literal or a pattern",
    "patternProperties": "use a list of models with the key as a field",
    "propertyNames": "use a list of models with the key as a field",
    "if": "use a discriminated union",
}
_MARK = (
    "a model may hold {!r} for a control mark, or write its accents otherwise, and could never say it: "
    "write {!r}"
)


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bounds for what a model leaves open; None leaves nothing open.

    Args:
        text: characters of a string.
        items: of a list.
        magnitude: the largest number, to either side of 0.
        step: what fractions are multiples of, such as 0.01.
    """

    text: int | None = None
    items: int | None = None
    magnitude: int | None = None
    step: float | None = None


NONE_GIVEN = Bounds()


def bounded(schema: Node, bounds: Bounds = NONE_GIVEN) -> tuple[Node, int]:
    """The schema with all that is open closed by `bounds`, and its longest text's size in bytes.

    An object has the fields that its model names and no others, whatever the model does with others.

    Raises:
        UnmaskableSchema: with every place that no mask can hold, and what to write there.
    """
    walk = _Walk(schema.get("$defs", {}), bounds)
    closed, longest = walk.node(schema, "")
    if not walk.problems and longest > MOST_BYTES:
        walk.refuse("", f"an answer could have {longest:,} bytes; lower its bounds to {MOST_BYTES:,} in all")
    if walk.problems:
        raise UnmaskableSchema(list(dict.fromkeys(walk.problems)))
    return closed | ({"$defs": walk.closed} if walk.closed else {}), longest


class _Walk:
    """One walk of one schema, and each definition where it is first named."""

    def __init__(self, definitions: Node, bounds: Bounds) -> None:
        self._definitions = definitions
        self._bounds = bounds
        self._within: list[str] = []
        self._longest: dict[str, int] = {}
        self.closed: Node = {}
        self._kinds: dict[str, Callable[[Node, str], tuple[Node, int]]] = {
            "string": self._string,
            "integer": self._number,
            "number": self._number,
            "boolean": lambda *_: ({"type": "boolean"}, len("false")),
            "null": lambda *_: ({"type": "null"}, len("null")),
            "array": self._array,
            "object": self._object,
        }
        self.problems: list[tuple[str, str]] = []

    def refuse(self, at: str, why: str) -> tuple[Node, int]:
        self.problems.append((at or "/", why))
        return {}, 0

    def node(self, node: Any, at: str) -> tuple[Node, int]:
        """The bounded node, and its longest text's size."""
        if not isinstance(node, dict):
            return self.refuse(at, "anything at all may stand here: give it a type")
        if "$ref" in node:
            return self._named(node, at)
        if "const" in node:
            self._only(node, {"const", "enum", "type"}, at)
            self._writable(node["const"], at)
            return {"const": node["const"]}, _spelled(node["const"])
        if "enum" in node:
            self._only(node, {"enum", "type"}, at)
            self._writable(node["enum"], at)
            return {"enum": node["enum"]}, max(map(_spelled, node["enum"]), default=0)
        for choice in ("anyOf", "oneOf", "allOf"):
            if choice in node:
                return self._choice(node, choice, at)
        kind = node.get("type")
        if isinstance(kind, list):
            return self._choice({"anyOf": [{**node, "type": one} for one in kind]}, "anyOf", at)
        if kind not in self._kinds:
            return self.refuse(at, "anything at all may stand here: give it a type")
        self._only(node, {"type", *HELD[kind]}, at)
        return self._kinds[kind](node, at)

    def _named(self, node: Node, at: str) -> tuple[Node, int]:
        name = node["$ref"].rsplit("/", 1)[1]
        self._only(node, {"$ref"}, at)
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
        return {"$ref": f"#/$defs/{name}"}, self._longest[name]

    def _choice(self, node: Node, choice: str, at: str) -> tuple[Node, int]:
        self._only(node, {choice}, at)
        found = [self.node(one, f"{at}/{choice}/{n}") for n, one in enumerate(node[choice])]
        if choice == "allOf" and len(found) > 1:
            return self.refuse(at, "several schemas at once: write one model with all of their fields")
        longest = max((long for _, long in found), default=0)
        # Where a field tells the branches apart no text fits two of them, and llguidance takes no `oneOf`.
        kept = "oneOf" if choice == "oneOf" and "discriminator" not in node else "anyOf"
        return {kept: [branch for branch, _ in found]}, longest

    def _string(self, node: Node, at: str) -> tuple[Node, int]:
        closed = {key: node[key] for key in node if key in HELD["string"] | {"type"}}
        kind = node.get("format")
        if kind is not None and kind not in LONG_FORMATS | FORMATS.keys():
            return self.refuse(
                at,
                f"no mask knows the format {kind!r}: use a str with max_length, and a pattern for its form",
            )
        if kind in FORMATS and "maxLength" not in node:
            return closed, FORMATS[kind] + 2
        most = node.get("maxLength", self._bounds.text)
        if most is None:
            return self.refuse(at, "a text without an end: Field(max_length=…), a Literal, or Bounds(text=…)")
        return closed | {"maxLength": most}, BYTES_A_SIGN * most + 2

    def _number(self, node: Node, at: str) -> tuple[Node, int]:
        closed = {key: node[key] for key in node if key in HELD["number"] | {"type"}}
        most = self._bounds.magnitude
        for side, end in (("minimum", None if most is None else -most), ("maximum", most)):
            if side not in node and f"exclusive{side.title()}" not in node:
                if end is None:
                    return self.refuse(
                        at, "a number without an end: Field(ge=…, le=…), or Bounds(magnitude=…)"
                    )
                closed[side] = end
        ends = [closed[key] for key in closed if key.lower().endswith(("minimum", "maximum"))]
        digits = max(len(str(int(end))) for end in ends) + 1  # -0.5 has a sign that its integer part has not
        if node["type"] == "integer":
            return closed, digits
        step = node.get("multipleOf", self._bounds.step)
        if step is None:
            return self.refuse(
                at, "a fraction without an end: Field(multiple_of=0.01), or Bounds(step=…); or use an int"
            )
        return closed | {"multipleOf": step}, digits + 1 + _decimals(step)

    def _array(self, node: Node, at: str) -> tuple[Node, int]:
        closed: Node = {key: node[key] for key in ("type", "minItems", "maxItems") if key in node}
        first = [self.node(one, f"{at}/{n}") for n, one in enumerate(node.get("prefixItems", ()))]
        most = node.get("maxItems", self._bounds.items)
        if most is None:
            return self.refuse(at, "a list without an end: Field(max_length=…), or Bounds(items=…)")
        longest = sum(long + 1 for _, long in first)
        if first:
            closed["prefixItems"] = [one for one, _ in first]
        if most > len(first):
            item, long = self.node(node.get("items"), f"{at}/*")
            closed["items"] = item
            longest += (most - len(first)) * (long + 1)
        return closed | {"maxItems": most}, longest + 2

    def _object(self, node: Node, at: str) -> tuple[Node, int]:
        if node.get("additionalProperties") and "properties" not in node:
            return self.refuse(at, "fields of any name: use a list of models with the name as a field")
        fields, longest = {}, 2
        for name, field in node.get("properties", {}).items():
            self._writable(name, f"{at}/{name}")
            fields[name], long = self.node(field, f"{at}/{name}")
            longest += _spelled(name) + 2 + long
        closed = {"type": "object", "properties": fields, "required": node.get("required", [])}
        return closed | {"additionalProperties": False}, longest

    def _writable(self, value: Any, at: str) -> None:
        """What a mask forces has to be what any model can write (`schemas/writable.py`)."""
        for text in _texts(value):
            if writable(text) != text:
                self.refuse(at, _MARK.format(text, writable(text)))

    def _only(self, node: Node, known: set[str], at: str) -> None:
        for key in _said(node):
            if key not in known:
                self.refuse(f"{at}/{key}", INSTEAD.get(key, "no mask holds this keyword; take it out"))


def _said(node: Node) -> Iterator[str]:
    """Keywords that say what may be written."""
    return (key for key in node if key not in NOTES and not key.startswith("x-"))


def _texts(value: Any) -> Iterator[str]:
    """Every text in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)
    elif isinstance(value, dict):
        for name, one in value.items():
            yield name
            yield from _texts(one)


def _spelled(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


def _decimals(step: float) -> int:
    return max(0, -int(Decimal(str(step)).normalize().as_tuple().exponent))
