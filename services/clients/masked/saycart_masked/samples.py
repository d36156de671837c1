"""Generate texts for a bounded schema: valid ones at each bound, and others with one mistake in one place.

A supposed mistake may be valid, for example in a union. So `check.py` has the model judge each text.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from decimal import Decimal
from itertools import islice
from typing import Any, NamedTuple

from .bounds import FORMATS, Node
from .output import mask_of

MOST = 500_000
"""Characters of all texts of one place; above it only every second text is used, or every third."""
ODD = ("null", "true", "0", "0.5", '"?"', "[]", "{}")
SIGNS = 'aé🍵"\\\t\x1f'
FORMS = "2000-02-29 0000-01-01 1900-02-29 2023-02-29 255.255.255.255 256.0.0.1 :: 1::2::3 12345::".split()
ENDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")


class Case(NamedTuple):
    """A text, what it tests where, and whether the mask must allow it if it is valid."""

    text: str
    what: str
    plain: bool = True


def samples(node: Node, definitions: Node, at: str = "") -> list[Case]:
    """Return the cases for one place of a bounded schema; the first one is valid."""
    if "$ref" in node:
        return samples(definitions[node["$ref"].removeprefix("#/$defs/")], definitions, at)
    if "anyOf" in node:
        return [case for one in node["anyOf"] for case in samples(one, definitions, at)]
    kind = "" if "enum" in node or "const" in node else node["type"]
    form = {"array": _arrays, "object": _objects}.get(kind, _leaves)
    cases = [*form(node, definitions, at), *(Case(odd, f"{at}: another type", False) for odd in ODD)]
    return cases[:: 1 + sum(len(case.text) for case in cases) // MOST]


def _arrays(node: Node, definitions: Node, at: str) -> Iterator[Case]:
    ways = [samples(one, definitions, f"{at}/{n}") for n, one in enumerate(node.get("prefixItems", ()))]
    rest = samples(node["items"], definitions, f"{at}/*") if "items" in node else [Case("0", f"{at}: longer")]
    least, most = node.get("minItems", 0), node["maxItems"]
    items = [cases[0].text for cases in ways] + [rest[0].text] * (most + 1)
    for count in (least, most, max(least - 1, 0), most + 1):
        yield Case(f"[{','.join(items[:count])}]", f"{at}: {count} items")
    for n, cases in enumerate([*ways, rest][:most]):
        for case in cases:
            yield case._replace(text=f"[{','.join([*items[:n], case.text, *items[n + 1 : least]])}]")


def _objects(node: Node, definitions: Node, at: str) -> Iterator[Case]:
    ways = {name: samples(one, definitions, f"{at}/{name}") for name, one in node["properties"].items()}
    fields = {name: cases[0].text for name, cases in ways.items()}
    least = {name: text for name, text in fields.items() if name in node.get("required", ())}
    yield Case(_object(least), f"{at}: required fields")
    yield Case(_object(fields), f"{at}: all fields")
    yield Case(_object(fields | {"?": "0"}), f"{at}: an extra field", False)
    for name, cases in ways.items():
        less = {one: text for one, text in least.items() if one != name}
        yield Case(_object(less), f"{at}/{name}: missing", False)
        for case in cases:
            order = {one: text for one, text in fields.items() if one in least or one == name}
            yield case._replace(text=_object(order | {name: case.text}))


def _leaves(node: Node, _: Node, at: str) -> Iterator[Case]:
    drawn = mask_of(node, 0).texts(random.Random(1), on=0.5)  # noqa: S311
    texts = sorted({text.decode() for text in islice(drawn, 20)}, key=len)
    texts += map(_json, node.get("enum", ()))
    if node.get("type") == "string":
        least, most = node.get("minLength", 0), node.get("maxLength", 0)
        lengths = (least, most, max(least - 1, 0), most + 1)
        texts += [_json(sign * length) for length in lengths for sign in SIGNS]
        texts += map(_json, FORMS) if "format" in node else ()
    step = Decimal(str(node.get("multipleOf", 1)))
    for end in (Decimal(str(node[key])) for key in ENDS if key in node):
        edge = (end / step).to_integral_value() * step
        numbers = (edge, edge - step, edge + step, edge + step / 2, end)
        texts += [f"{number.normalize():f}" for number in numbers]
    known = node.get("format") in (None, *FORMATS)  # other formats aren't validated
    for text in texts:
        yield Case(text, f"{at}: a value", known)
        for near in (text[:-2] + text[-1:], text[:-1] + "?" + text[-1:], text.swapcase(), _json(text)):
            yield Case(near, f"{at}: nearly a value", False)


def _object(fields: Mapping[str, str]) -> str:
    return "{" + ",".join(f"{_json(name)}:{text}" for name, text in fields.items()) + "}"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
