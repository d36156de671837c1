"""Families whose schemas refer to themselves or to parts of themselves, nest deep, or are wide."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.bench.schemas.cases import Drawn, Family, Schema, record

INTEGER: Schema = {"type": "integer"}


def _chain(depth: int, last: Any, name: str = "next") -> Any:
    for level in range(depth):
        last = {"value": level, name: last}
    return last


def recursion(i: int, rng: Random) -> Drawn:
    if i < 4:  # a list that ends in null, by `#` or by name
        target = "#" if i % 2 else "#/$defs/node"
        value: Schema = {"type": "integer", "maximum": 99} if i >= 2 else INTEGER
        node = record({"value": value, "next": {"anyOf": [{"$ref": target}, {"type": "null"}]}})
        schema = node if i % 2 else {"$ref": target, "$defs": {"node": node}}
        return Drawn(
            schema, [_chain(1, None), _chain(5 + i, None)], [_chain(2, 3), {"value": 1}, _chain(3, {})]
        )
    if i < 8:  # a tree, whose children may be bounded
        limit: Schema = {"maxItems": i - 3} if i % 2 else {}
        name: Schema = {"type": "string", "maxLength": 9} if i >= 6 else {"type": "string"}
        node = record({"name": name, "children": {"type": "array", "items": {"$ref": "#"}, **limit}})
        leaf = {"name": "leaf", "children": []}
        pair = {"name": "a", "children": [leaf, {"name": "b", "children": [leaf]}]}
        wrong = [{"name": "a"}, {"name": "a", "children": [{"name": "b"}]}]
        if limit:
            wrong.append({"name": "a", "children": [leaf] * (i - 2)})
        return Drawn(node, [leaf, pair], wrong)
    # Nested arrays of one type, and a map of maps.
    if i == 8:
        schema = {
            "$ref": "#/$defs/n",
            "$defs": {"n": {"anyOf": [INTEGER, {"type": "array", "items": {"$ref": "#/$defs/n"}}]}},
        }
        return Drawn(schema, [3, [], [1, [2, [3, [4]]]]], ["3", [1, ["2"]], [None]])
    schema = {"type": "object", "additionalProperties": {"$ref": "#"}}
    return Drawn(schema, [{}, {"a": {"b": {}, "c": {"d": {}}}}], [{"a": 1}, {"a": {"b": []}}])


def mutual(i: int, rng: Random) -> Drawn:
    """Definitions that call each other: i % 3 + 2 of them in a ring, and from 6 on terms and sums."""
    if i < 6:
        ring = 2 + i % 3
        kinds = [f"k{n}" for n in range(ring)]
        defs = {}
        for n, kind in enumerate(kinds):
            follower: Schema = {"$ref": f"#/$defs/{kinds[(n + 1) % ring]}"}
            if i >= 3:
                follower = {"type": "array", "items": follower, "maxItems": 2}
            defs[kind] = record({"kind": {"const": kind}, "of": follower}, required=["kind"])
        wrap = (lambda x: [x]) if i >= 3 else (lambda x: x)
        whole: Any = {"kind": kinds[-1]}
        for kind in reversed(kinds[:-1]):
            whole = {"kind": kind, "of": wrap(whole)}
        skipped = {"kind": "k0", "of": wrap({"kind": "k0"})}
        return Drawn(
            {"$ref": "#/$defs/k0", "$defs": defs},
            [{"kind": "k0"}, whole],
            [{"kind": "k1"}, skipped, {"kind": "k0", "of": wrap({})}],
        )
    operators = ["plus", "minus", "times", "over", "power"][: i - 4]
    schema = {
        "$ref": "#/$defs/sum",
        "$defs": {
            "sum": {
                "anyOf": [
                    {"$ref": "#/$defs/term"},
                    record(
                        {
                            "op": {"enum": operators},
                            "left": {"$ref": "#/$defs/term"},
                            "right": {"$ref": "#/$defs/sum"},
                        }
                    ),
                ]
            },
            "term": {"anyOf": [{"type": "number"}, {"$ref": "#/$defs/group"}]},
            "group": record({"group": {"$ref": "#/$defs/sum"}}),
        },
    }
    inner = {"op": operators[-1], "left": 1, "right": {"op": "plus", "left": 2.5, "right": 3}}
    return Drawn(
        schema,
        [4, inner, {"group": {"group": inner}}],
        [{"op": "mod", "left": 1, "right": 2}, {"op": "plus", "left": inner, "right": 1}, {"group": {}}, "4"],
    )


IMPOSSIBLE: list[Schema] = [
    {"$ref": "#/$defs/n", "$defs": {"n": record({"next": {"$ref": "#/$defs/n"}})}},
    record({"count": {"type": "integer", "minimum": 5, "maximum": 3}}),
    record({"name": {"type": "string", "minLength": 4, "maxLength": 2}}),
    record({"tag": {"allOf": [{"const": "a"}, {"const": "b"}]}}),
    record({"list": {"type": "array", "items": {"type": "integer"}, "minItems": 3, "maxItems": 1}}),
    record({"code": {"type": "string", "enum": [1, 2]}}),
    {"type": "object", "properties": {"a": False}, "required": ["a"]},
    record({"number": {"type": "integer", "exclusiveMinimum": 1, "exclusiveMaximum": 2}}),
    record({"word": {"type": "string", "pattern": "^[a-c]{3}$", "maxLength": 2}}),
    {
        "$ref": "#/$defs/a",
        "$defs": {
            "a": {"$ref": "#/$defs/b"},
            "b": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/a"}},
        },
    },
]


def impossible(i: int, rng: Random) -> Drawn:
    wrong: list[list[Any]] = [
        [{"next": None}, {}],
        [{"count": 4}, {"count": 5}],
        [{"name": "abc"}, {"name": "abcd"}],
        [{"tag": "a"}, {"tag": "b"}],
        [{"list": [1]}, {"list": [1, 2, 3]}],
        [{"code": 1}, {"code": "1"}],
        [{"a": 1}, {}],
        [{"number": 1}, {"number": 2}],
        [{"word": "abc"}, {"word": "ab"}],
        [[], [[]]],
    ]
    return Drawn(IMPOSSIBLE[i], [], wrong[i])


def pointers(i: int, rng: Random) -> Drawn:
    """References by every spelling that the standard has, some with siblings, which hold as well."""
    colour, small = {"enum": ["red", "green"]}, {"type": "integer", "maximum": 9}
    schemas: list[Schema] = [
        record({"a": colour, "b": {"$ref": "#/properties/a"}}),
        {"$defs": {"a/b": colour}, **record({"a": {"$ref": "#/$defs/a~1b"}, "b": {"$ref": "#/$defs/a~1b"}})},
        {"$defs": {"a~b": colour}, **record({"a": {"$ref": "#/$defs/a~0b"}, "b": {"$ref": "#/$defs/a~0b"}})},
        {
            "$defs": {"a%b": colour},
            **record({"a": {"$ref": "#/$defs/a%25b"}, "b": {"$ref": "#/$defs/a%25b"}}),
        },
        {
            "$defs": {"c": {"$anchor": "hue", **colour}},
            **record({"a": {"$ref": "#hue"}, "b": {"$ref": "#hue"}}),
        },
        {
            "$id": "https://example.com/root",
            "$defs": {"c": {"$id": "hue", **colour}},
            **record({"a": {"$ref": "hue"}, "b": {"$ref": "https://example.com/hue"}}),
        },
        {
            "$defs": {"c": {"$ref": "#/$defs/d"}, "d": {"$ref": "#/$defs/e"}, "e": colour},
            **record({"a": {"$ref": "#/$defs/c"}, "b": {"$ref": "#/$defs/d"}}),
        },
        {
            "$defs": {"n": {"type": "integer"}},
            **record({"a": {"$ref": "#/$defs/n", "maximum": 9}, "b": {"$ref": "#/$defs/n", "minimum": -2}}),
        },
        {
            "$defs": {"s": {"type": "string"}},
            **record(
                {"a": {"$ref": "#/$defs/s", "maxLength": 3}, "b": {"$ref": "#/$defs/s", "enum": ["x", "yy"]}}
            ),
        },
        {
            "definitions": {"n": small},
            **record(
                {
                    "a": {"$ref": "#/definitions/n"},
                    "b": {"allOf": [{"$ref": "#/definitions/n"}, {"minimum": 0}]},
                }
            ),
        },
    ]
    if i < 7:
        right, wrong = [("red", "green"), ("green", "green")], [("red", "blue"), ("blue", "red")]
    elif i == 7:
        right, wrong = [(9, -2), (-50, 70)], [(10, 0), (0, -3)]
    elif i == 8:
        right, wrong = [("abc", "yy"), ("", "x")], [("abcd", "x"), ("abc", "z")]
    else:
        right, wrong = [(9, 0), (-7, 9)], [(10, 0), (0, -1), (0, 10)]
    pairs: list[list[Any]] = [[{"a": a, "b": b} for a, b in rows] for rows in (right, wrong)]
    return Drawn(schemas[i], pairs[0], pairs[1])


def deep(i: int, rng: Random) -> Drawn:
    """8 to 80 levels, written out."""
    depth = (i + 1) * 8
    schema: Schema = {"type": "integer"}
    right: Any = 7
    wrong: Any = "7"
    for level in range(depth):
        if level % 2 or i % 2:
            schema = record({f"l{level % 10}": schema})
            right, wrong = {f"l{level % 10}": right}, {f"l{level % 10}": wrong}
        else:
            schema = {"type": "array", "items": schema, "minItems": 1, "maxItems": 2}
            right, wrong = [right], [wrong]
    return Drawn(schema, [right], [wrong, 7, {}])


def wide(i: int, rng: Random) -> Drawn:
    """Objects of 20 to 200 members, all optional, some nullable: which may come next is any subset's tail."""
    count = 20 * (i + 1)
    names = [f"field_{n}" for n in range(count)]
    rng.shuffle(names)
    kinds: list[Schema] = [
        {"type": ["integer", "null"]},
        {"anyOf": [{"type": "string"}, {"type": "null"}]},
        {"type": "boolean"},
    ]
    properties = {name: kinds[n % 3] for n, name in enumerate(names)}
    required = [names[count // 2]] if i % 2 else []
    sample: list[Any] = [None, "x", True]

    def some(step: int) -> dict[str, Any]:
        return {name: sample[n % 3] for n, name in enumerate(names) if n % step == 0 or name in required}

    wrong: list[Any] = [{**some(3), names[-1]: 1.5}, {"field_x": 1}, {**some(7), names[2]: None}]
    if required:
        wrong.append({names[0]: 1})
    return Drawn(record(properties, required=required), [some(1), some(3), some(7), some(count)], wrong)


FAMILIES = [
    Family("recursion", "a schema that contains itself has no size, and no regular expression", recursion),
    Family("mutual", "definitions that call each other in a ring", mutual),
    Family(
        "impossible", "nothing satisfies it: a mask can only refuse it, or never come to an end", impossible
    ),
    Family("pointers", "every spelling of a reference, and references with siblings that hold too", pointers),
    Family("deep", "8 to 80 levels written out", deep),
    Family("wide", "20 to 200 optional members: subsets, if each is written out, are 2 to the 200", wide),
]
