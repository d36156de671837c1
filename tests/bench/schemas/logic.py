"""Families of alternatives and conditions: what a text may be depends on a part of it that comes later."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.bench.schemas.cases import Drawn, Family, Schema, record

INTEGER: Schema = {"type": "integer"}
STRING: Schema = {"type": "string"}


def one_of_overlap(i: int, rng: Random) -> Drawn:
    """`oneOf` whose branches overlap: what two of them allow is not valid."""
    if i < 5:
        first, second = {"type": "integer", "maximum": 10 + i}, {"type": "integer", "minimum": 5 + i}
        schema = record({"n": {"oneOf": [first, second]}})
        return Drawn(schema, [{"n": 4}, {"n": 20}], [{"n": 7 + i}, {"n": 5 + i}, {"n": "4"}])
    if i < 8:
        letters = "abc"[: i - 4]
        branches = [{"type": "string", "pattern": f"^{letters}"}, {"type": "string", "pattern": "z$"}]
        schema = record({"s": {"oneOf": branches}})
        return Drawn(schema, [{"s": letters + "x"}, {"s": "xz"}], [{"s": letters + "z"}, {"s": "x"}])
    a, b = (
        record({"a": INTEGER, "b": INTEGER}, required=["a"]),
        record({"a": INTEGER, "b": INTEGER}, required=["b"]),
    )
    branches = [a, b] if i == 8 else [{**a, "additionalProperties": True}, b]
    return Drawn({"oneOf": branches}, [{"a": 1}, {"b": 2}], [{"a": 1, "b": 2}, {}])


def any_of_prefix(i: int, rng: Random) -> Drawn:
    """Branches that begin alike for i + 2 members and part at the last."""
    shared = [f"shared_{n}" for n in range(i + 2)]
    ends: list[tuple[str, Schema, Any]] = [
        ("count", INTEGER, 3),
        ("counts", {"type": "array", "items": INTEGER}, [3]),
        ("text", STRING, "t"),
        ("flag", {"type": "boolean"}, False),
    ]
    branches = [record({**dict.fromkeys(shared, STRING), name: kind}) for name, kind, _ in ends]
    common = dict.fromkeys(shared, "s")
    right = [{**common, name: value} for name, _, value in ends]
    wrong = [common, {**common, "count": [3]}, {**common, "flag": "t"}, {**common, "count": 3, "text": "t"}]
    return Drawn({"anyOf": branches}, right, wrong)


def discriminator(i: int, rng: Random) -> Drawn:
    """A union told apart by a const, which comes first, or last, or inside of a member."""
    kinds = [f"kind_{n}" for n in range(2 + i)]
    branches, right, wrong = [], [], []
    for n, kind in enumerate(kinds):
        tag: Schema = record({"name": {"const": kind}}) if i % 3 == 2 else {"const": kind}
        value: Any = {"name": kind} if i % 3 == 2 else kind
        data: Schema = {"type": ["integer", "string", "boolean"][n % 3]}
        good: Any = [n, "v", True][n % 3]
        bad: Any = ["v", True, 2][n % 3]
        members = {"data": data, "tag": tag} if i % 3 == 1 else {"tag": tag, "data": data}
        branches.append(record(members))
        right.append({name: value if name == "tag" else good for name in members})
        wrong.append({name: value if name == "tag" else bad for name in members})
    return Drawn({"oneOf" if i % 2 else "anyOf": branches}, right, wrong)


def all_of(i: int, rng: Random) -> Drawn:
    """Parts that hold together: members of several, bounds and patterns of the same value."""
    if i < 3:
        parts = [
            {"type": "object", "properties": {f"p{n}": INTEGER}, "required": [f"p{n}"]} for n in range(i + 2)
        ]
        whole = {f"p{n}": n for n in range(i + 2)}
        return Drawn({"allOf": parts}, [whole], [{"p0": 0}, {**whole, "p1": "1"}, {}])
    if i < 6:
        schema = record(
            {"n": {"allOf": [{"type": "integer"}, {"minimum": i}, {"maximum": 40 + i}, {"multipleOf": 2}]}}
        )
        return Drawn(schema, [{"n": 10}, {"n": 40}], [{"n": 2}, {"n": 50}, {"n": 11}, {"n": "10"}])
    if i < 8:
        patterns = [{"pattern": "^[a-z]+$"}, {"pattern": "e"}, {"minLength": 3 + i - 6}]
        schema = record({"s": {"type": "string", "allOf": patterns}})
        return Drawn(schema, [{"s": "house"}, {"s": "eels"}], [{"s": "hus"}, {"s": "House"}, {"s": "walls"}])
    base = {"type": "object", "properties": {"id": INTEGER}, "required": ["id"]}
    extra = {"type": "object", "properties": {"name": STRING, "id": {"minimum": 10}}, "required": ["name"]}
    closed: Schema = {"unevaluatedProperties": False} if i == 9 else {}
    wrong: list[Any] = [{"id": 9, "name": "n"}, {"id": 11}, {"name": "n"}]
    if closed:
        wrong.append({"id": 11, "name": "n", "more": 1})
    return Drawn({"allOf": [base, extra], **closed}, [{"id": 10, "name": "n"}], wrong)


def negation(i: int, rng: Random) -> Drawn:
    inner: list[tuple[Schema, list[Any], list[Any]]] = [
        ({"type": "string", "not": {"const": "no"}}, ["yes", "not", "n"], ["no", 1]),
        ({"type": "string", "not": {"enum": ["a", "ab", "abc"]}}, ["b", "abcd", ""], ["ab", "abc"]),
        ({"type": "string", "not": {"pattern": "^x"}}, ["ax", ""], ["x", "xa"]),
        ({"type": "integer", "not": {"minimum": 5}}, [4, -9], [5, 60]),
        ({"type": "integer", "not": {"multipleOf": 3}}, [1, 20], [3, 0]),
        ({"not": {"type": "string"}}, [1, None, {"a": 1}], ["", "s"]),
        ({"not": {"type": ["object", "array", "null"]}}, [1, "s", True], [{}, [], None]),
        ({"type": "string", "not": {"minLength": 4}}, ["abc", ""], ["abcd"]),
        ({"type": "object", "not": {"required": ["secret"]}}, [{}, {"open": 1}], [{"secret": 1}]),
        ({"type": "array", "items": INTEGER, "not": {"minItems": 3}}, [[], [1, 2]], [[1, 2, 3]]),
    ]
    schema, right, wrong = inner[i]
    return Drawn(record({"v": schema}), [{"v": v} for v in right], [{"v": v} for v in wrong])


def conditional(i: int, rng: Random) -> Drawn:
    """`if` on a member that is written before, or (from 5 on) after what depends on it."""
    country, code = {"enum": ["NL", "US"]}, STRING
    members = {"country": country, "code": code} if i < 5 else {"code": code, "country": country}
    length = 4 + i % 5

    def of(name: str, value: str) -> dict[str, Any]:
        told = {"country": name, "code": value}
        return {key: told[key] for key in members}

    then = {"properties": {"code": {"pattern": f"^[0-9]{{{length}}}[A-Z]{{2}}$"}}}
    otherwise = {"properties": {"code": {"pattern": "^[0-9]{5}$"}}}
    schema = record(
        members, **{"if": {"properties": {"country": {"const": "NL"}}}, "then": then, "else": otherwise}
    )
    dutch, american = "1" * length + "AB", "12345"
    return Drawn(
        schema,
        [of("NL", dutch), of("US", american)],
        [of("NL", american), of("US", dutch), of("BE", american)],
    )


def dependent(i: int, rng: Random) -> Drawn:
    """Members that call for others, and counts of members."""
    names = ["card", "street", "city"]
    kinds = dict.fromkeys(names, STRING)
    if i < 4:
        needs = (
            {"card": names[1 : 2 + i % 2]} if i < 2 else {"city": ["card"] if i == 2 else ["card", "street"]}
        )
        schema = record(kinds, required=[], dependentRequired=needs)
        wrong = {"card": "c"} if i < 2 else {"street": "s", "city": "t"}
        return Drawn(schema, [{}, dict.fromkeys(names, "x")], [wrong, {"card": 1}])
    if i < 7:
        then = {"required": ["street"], "properties": {"card": {"minLength": i}}}
        schema = record(kinds, required=[], dependentSchemas={"card": then})
        return Drawn(
            schema,
            [{"city": "x"}, {"card": "c" * i, "street": "s"}],
            [{"card": "c" * i}, {"card": "c", "street": "s"}],
        )
    if i == 7:
        schema = record(kinds, required=[], minProperties=2)
        return Drawn(schema, [{"card": "c", "city": "t"}, dict.fromkeys(names, "x")], [{}, {"city": "t"}])
    if i == 8:
        schema = record(kinds, required=[], maxProperties=1)
        return Drawn(schema, [{}, {"city": "t"}], [{"card": "c", "city": "t"}, dict.fromkeys(names, "x")])
    schema = {
        "type": "object",
        "additionalProperties": INTEGER,
        "minProperties": 2,
        "maxProperties": 3,
        "propertyNames": {"pattern": "^[a-z]$"},
    }
    return Drawn(
        schema,
        [{"a": 1, "b": 2}, {"x": 1, "y": 2, "z": 3}],
        [{"a": 1}, {"a": 1, "bb": 2}, {"a": 1, "b": 2, "c": 3, "d": 4}],
    )


FAMILIES = [
    Family("one_of_overlap", "exactly one branch may match, and the branches overlap", one_of_overlap),
    Family("any_of_prefix", "branches that part only after two to eleven equal members", any_of_prefix),
    Family("discriminator", "a union whose tag comes first, last, or inside of a member", discriminator),
    Family("all_of", "parts that hold together: intersections of members, bounds and patterns", all_of),
    Family("negation", "`not`: the complement of a pattern, a bound, a type, a list", negation),
    Family(
        "conditional", "`if`, `then`, `else`, on a member before or after what depends on it", conditional
    ),
    Family("dependent", "members that call for others, and counts of members", dependent),
]
