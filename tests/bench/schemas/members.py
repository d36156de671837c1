"""Families of objects and arrays: open names, names by pattern, order, tuples, counts, no repeats."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.bench.schemas.cases import Drawn, Family, Schema, record

INTEGER: Schema = {"type": "integer"}
STRING: Schema = {"type": "string"}


def additional(i: int, rng: Random) -> Drawn:
    """Open objects: a further name must be none of the declared ones, which may begin alike."""
    declared = ["a", "ab", "abc", "name", "names", "na"][: 2 + i % 5]
    kind: Schema = [STRING, {"type": "boolean"}, {"type": "array", "items": INTEGER}][i % 3]
    good: Any = ["x", True, [1, 2]][i % 3]
    schema: Schema = {
        "type": "object",
        "properties": dict.fromkeys(declared, INTEGER),
        "required": declared[:1] if i % 2 else [],
        "additionalProperties": kind,
    }
    if i == 9:
        schema["properties"] = {"aé": INTEGER, 'a"': INTEGER}
        schema["required"] = []
        return Drawn(schema, [{"aé": 1, "aè": good}, {"a": good}], [{"aé": good}, {'a"': good}, {"aè": 1}])
    full = dict.fromkeys(declared, 1)
    right = [full, {**full, "other": good, declared[-1] + "z": good}, {declared[0]: 2, "zz": good}]
    wrong = [{**full, "other": 1}, {declared[0]: good}, {declared[0]: 1, declared[1]: good}]
    return Drawn(schema, right, wrong)


def pattern_properties(i: int, rng: Random) -> Drawn:
    """Members by the pattern of their names; patterns that overlap each other or a declared name."""
    closed = {"additionalProperties": False}
    if i < 3:
        schema: Schema = {
            "type": "object",
            "patternProperties": {f"^[a-z]{{1,{3 + i}}}$": INTEGER, "^[A-Z]": STRING},
            **closed,
        }
        return Drawn(schema, [{}, {"ab": 1, "Xy": "s"}], [{"ab": "s"}, {"Xy": 1}, {"abcdef": 1}])
    if i < 5:
        schema = {
            "type": "object",
            "properties": {"x_id": INTEGER},
            "patternProperties": {["^x_", "_"][i - 3]: {"type": ["integer", "string"]}},
            **closed,
        }
        return Drawn(
            schema, [{"x_id": 1, "x_other": "s"}, {"x_": 2}], [{"x_id": "s"}, {"y": 1}, {"x_a": True}]
        )
    if i < 7:
        schema = {
            "type": "object",
            "patternProperties": {"^a": {"type": "integer"}, ["z$", "z"][i - 5]: {"minimum": 10}},
            **closed,
        }
        return Drawn(schema, [{"a": 1, "az": 12, "bz": 10}], [{"az": 5}, {"az": "s"}, {"b": 1}, {"bz": 9}])
    if i == 7:
        schema = {"type": "object", "patternProperties": {"id": INTEGER}}
        return Drawn(schema, [{"my_id": 1, "other": "s"}, {}], [{"my_id": "s"}, {"ids": None}])
    if i == 8:
        schema = {"type": "object", "patternProperties": {"^\\d+$": STRING}, "additionalProperties": INTEGER}
        return Drawn(schema, [{"12": "s", "x": 1}, {"1a": 2}], [{"12": 1}, {"1a": "s"}])
    schema = {
        "type": "object",
        "properties": {"kind": STRING},
        "required": ["kind"],
        "patternProperties": {"^kind_[0-9]$": INTEGER},
        "unevaluatedProperties": False,
    }
    return Drawn(
        schema, [{"kind": "k", "kind_1": 1}, {"kind": "k"}], [{"kind": "k", "kind_10": 1}, {"kind_1": 1}]
    )


def order(i: int, rng: Random) -> Drawn:
    """Order that is a trap: required names out of order or declared nowhere, members in several parts."""
    if i < 4:
        names = ["delta", "alpha", "charlie", "bravo", "echo"][: 3 + i % 3]
        required = sorted(names)[: 2 + i % 2]
        full = {name: n for n, name in enumerate(names)}
        some = {name: 1 for name in names if name in required}
        schema = record(dict.fromkeys(names, INTEGER), required=required)
        lacking = {name: 1 for name in names if name != required[0]}
        return Drawn(schema, [full, some], [lacking, {**full, names[-1]: "s"}, {}])
    if i < 6:  # required, and declared nowhere
        schema = {"type": "object", "properties": {"b": INTEGER}, "required": ["a", "b"]}
        if i == 5:
            schema["additionalProperties"] = STRING
        return Drawn(schema, [{"b": 1, "a": "s"}], [{"b": 1}, {"b": "s", "a": "s"}, {"b": 1, "c": "s"}])
    if i == 6:  # declared beside a reference
        schema = {
            "$defs": {"base": {"type": "object", "properties": {"id": INTEGER}, "required": ["id"]}},
            "$ref": "#/$defs/base",
            "properties": {"name": STRING},
            "required": ["name"],
        }
        return Drawn(schema, [{"name": "n", "id": 1}], [{"name": "n"}, {"name": 1, "id": 1}, {"id": 1}])
    if i == 7:  # one name declared twice
        schema = {
            "allOf": [
                {"type": "object", "properties": {"b": INTEGER, "a": INTEGER}, "required": ["a", "b"]},
                {"properties": {"a": {"minimum": 5}, "b": {"maximum": 3}}},
            ]
        }
        return Drawn(schema, [{"b": 3, "a": 5}], [{"b": 4, "a": 5}, {"b": 3, "a": 4}, {"b": 3}])
    numbers = [str(n) for n in (10, 9, 2, 1, 0)]  # names that a map of numbers would sort
    schema = record(dict.fromkeys(numbers, INTEGER if i == 8 else {"type": ["integer", "null"]}))
    return Drawn(
        schema, [dict.fromkeys(numbers, 7)], [dict.fromkeys(numbers[1:], 7), dict.fromkeys(numbers, "7")]
    )


def items(i: int, rng: Random) -> Drawn:
    """Counts of elements up to 300, of lists in lists, and of `contains`."""
    if i < 5:
        low, high = [(0, 1), (3, 3), (2, 20), (50, 60), (299, 300)][i]
        schema: Schema = {"type": "array", "items": INTEGER, "minItems": low, "maxItems": high}
        return Drawn(
            schema,
            [[1] * low, [2] * high],
            [[1] * (high + 1), ["s"] * high] + ([[1] * (low - 1)] if low else []),
        )
    if i < 8:
        size = i - 3
        row = {"type": "array", "items": {"type": "number"}, "minItems": size, "maxItems": size}
        schema = {"type": "array", "items": row, "minItems": size, "maxItems": size}
        whole = [[0.5] * size] * size
        return Drawn(schema, [whole], [whole[1:], [*whole[1:], [1] * (size - 1)], [*whole, [1] * size]])
    schema = {"type": "array", "items": INTEGER, "contains": {"minimum": 10}}
    if i == 9:
        schema |= {"minContains": 2, "maxContains": 3}
        return Drawn(schema, [[10, 1, 11], [12] * 3], [[10], [1, 2], [10] * 4])
    return Drawn(schema, [[10], [1, 11, 2]], [[], [1, 2]])


def tuples(i: int, rng: Random) -> Drawn:
    kinds: list[Schema] = [INTEGER, STRING, {"type": "boolean"}, {"type": "null"}, {"const": "end"}]
    values: list[Any] = [1, "s", True, None, "end"]
    size = 2 + i % 4
    schema: Schema = {"type": "array", "prefixItems": kinds[:size]}
    whole = values[:size]
    swapped = [whole[1], whole[0], *whole[2:]]
    if i < 4:  # closed, and each there
        schema |= {"items": False, "minItems": size}
        return Drawn(schema, [whole], [whole[1:], swapped, [*whole, 1], whole[:-1]])
    if i < 7:  # open at the end, of one type
        schema |= {"items": {"type": "array", "items": INTEGER}}
        return Drawn(
            schema, [whole, [*whole, [1], []], whole[:1], []], [swapped, [*whole, 1], [*whole, ["s"]]]
        )
    if i == 7:  # open to anything
        return Drawn(schema, [whole, [*whole, {"a": 1}], []], [swapped, ["s"]])
    schema |= {"minItems": 1, "maxItems": size + 1} | (
        {"items": STRING} if i == 8 else {"unevaluatedItems": False}
    )
    wrong = [[], swapped, [*whole, "x", "x"], [*whole, 1]]
    return Drawn(schema, [whole, whole[:1]], wrong)


def unique(i: int, rng: Random) -> Drawn:
    """`uniqueItems`: what may come next depends on everything that was written."""
    if i < 5:
        names = ["red", "green", "blue", "grey", "black", "white"][: 2 + i]
        schema: Schema = {"type": "array", "items": {"enum": names}, "uniqueItems": True}
        return Drawn(schema, [names, names[::-1], []], [[names[0], names[0]], [*names, names[1]], ["pink"]])
    if i < 8:
        schema = {
            "type": "array",
            "items": [INTEGER, {"type": "string", "maxLength": 4}, {"type": ["boolean", "null"]}][i - 5],
            "uniqueItems": True,
            "maxItems": 4,
        }
        right: list[Any] = [[1, 2, 3], ["a", "b", "ab"], [True, None]][i - 5]
        return Drawn(schema, [right, right[:1], []], [[right[0], right[0]], [*right, right[1]]])
    point = record({"x": {"type": "integer", "minimum": 0, "maximum": 3}, "y": {"enum": [0, 1]}})
    schema = {"type": "array", "items": point, "uniqueItems": True, **({"minItems": 2} if i == 9 else {})}
    a, b = {"x": 1, "y": 0}, {"x": 1, "y": 1}
    return Drawn(schema, [[a, b], [b, a, {"x": 3, "y": 0}]], [[a, a], [a, b, a], [{"x": 4, "y": 0}, a]])


UNTYPED: list[tuple[Schema, list[Any], list[Any]]] = [
    ({"minLength": 3}, ["abc", 1, None, []], ["ab", ""]),
    ({"maximum": 5}, [5, "long", {"a": 9}], [6, 5.5]),
    ({"pattern": "^a"}, ["ab", 7, [1]], ["ba", ""]),
    ({"properties": {"a": INTEGER}}, [{"a": 1}, {"b": "s"}, 3], [{"a": "s"}]),
    ({"required": ["a"]}, [{"a": 1}, "s", []], [{}, {"b": 1}]),
    ({"items": INTEGER}, [[1], "s", {}], [["s"], [1, None]]),
    ({}, [1, "s", [{"a": None}]], []),
    ({"maxItems": 1}, [[1], {"a": [1, 2]}, "s"], [[1, 2]]),
    ({"multipleOf": 2, "minLength": 2}, [4, "ab", False], [3, "a"]),
    ({"additionalProperties": False}, [{}, 1, ["x"]], [{"a": 1}]),
]


def untyped(i: int, rng: Random) -> Drawn:
    """Keywords without a type: each holds for values of its own type alone, and all else is allowed."""
    schema, right, wrong = UNTYPED[i]
    wrapped: list[Any] = [{"v": v} for v in wrong]
    return Drawn(record({"v": schema}), [{"v": v} for v in right], [*wrapped, {}, {"v": 1, "w": 2}])


FAMILIES = [
    Family(
        "additional",
        "open objects whose further names must be none of the declared, which begin alike",
        additional,
    ),
    Family(
        "pattern_properties",
        "members by the pattern of their names, patterns that overlap",
        pattern_properties,
    ),
    Family("order", "required names out of order, declared nowhere, or in several parts", order),
    Family("items", "counts of elements up to 300, lists in lists, `contains`", items),
    Family("tuples", "`prefixItems`, closed, open, and shorter than their prefix", tuples),
    Family("unique", "`uniqueItems`: the next element depends on all that were written", unique),
    Family("untyped", "keywords without a type, which hold for their own type alone", untyped),
]
