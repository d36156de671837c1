"""Families of what stands in one place: text by pattern, length or format, numbers by bounds, long lists."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.bench.schemas.cases import Drawn, Family, Schema, record

Told = tuple[str, list[Any], list[Any]]


def _member(schema: Schema, right: list[Any], wrong: list[Any]) -> Drawn:
    return Drawn(record({"v": schema}), [{"v": v} for v in right], [{"v": v} for v in wrong])


def _pattern(told: Told) -> Drawn:
    return _member({"type": "string", "pattern": told[0]}, told[1], told[2])


ANCHORED: list[Told] = [
    ("^[A-Z]{2}-[0-9]{4}$", ["AB-1234", "ZZ-0000"], ["AB-123", "ab-1234", "AB-12345"]),
    ("^(red|green|gr[ae]y)( (light|dark))?$", ["grey dark", "red"], ["grey  dark", "gray lights", ""]),
    ("^(0|[1-9][0-9]*)(\\.[0-9]+)?(-[a-z0-9]+(\\.[a-z0-9]+)*)?$", ["1.0-rc.1", "0"], ["01", "1.", "1-"]),
    ("^([01]?[0-9]|2[0-3]):[0-5][0-9]$", ["23:59", "7:05"], ["24:00", "7:5"]),
    ("^\\S+\\s\\d{1,3}\\w*$", ["Street 12b", "A 1"], ["Street12", "S t 1", "S 1234-"]),
    ("^(?:a|b(?:c|d(?:e|f)*)+)*$", ["abcdef", "", "bdefc"], ["b", "abe"]),
    ('^[^"\\\\]{1,5}$', ["a'b", "abcde"], ['a"b', "a\\b", "abcdef"]),
    ('^\\{"[a-z]+": [0-9]+\\}$', ['{"a": 1}', '{"key": 20}'], ["{'a': 1}", '{"a":1}']),
    ("^(ab{2,4}c?){1,3}$", ["abb", "abbbbcabb"], ["ab", "abbbbb", "abbabbabbabb"]),
    ("^[\\u00e0-\\u00ff]+ \\u20ac[0-9]+$", ["éà €5", "ü €20"], ["e €5", "é $5"]),
]
UNANCHORED: list[Told] = [
    ("b", ["abc", "b"], ["ac", ""]),
    ("[0-9]{3}", ["a123b", "1234"], ["12", "1a2b3"]),
    ("^ab", ["abc", "ab"], ["aab", "b"]),
    ("ab$", ["ab", "aab"], ["abc", "ba"]),
    ("a|b$", ["ac", "cb"], ["bc", "c"]),
    ("^a|b", ["ac", "cb"], ["ca", ""]),
    ("(^x|y)z", ["xz1", "ayz"], ["axz", "yx"]),
    ("", ["", "anything"], [1, None]),
    (".", ["x", "  "], ["", 1]),
    ("@.+\\.", ["a@b.c", "@x."], ["ab.c", "a@."]),
]
LOOKING: list[Told] = [
    ("^(?=.*[0-9])[a-z0-9]{4}$", ["abc1", "1234"], ["abcd", "ab1"]),
    ("^(?!admin)[a-z]{3,8}$", ["admi", "user"], ["admin", "admins"]),
    ("^(a|b)\\1$", ["aa", "bb"], ["ab", "ba"]),
    ("^[a-z]+(?<!x)$", ["ab", "xa"], ["ax", "x"]),
    ("\\bcat\\b", ["a cat", "cat"], ["cats", "concat"]),
    ("^(?=[a-f]+$)(?=.*b)[a-z]{2,4}$", ["ab", "fb"], ["aa", "bz"]),
    ("^(?:(?!--).)*$", ["a-b", ""], ["a--b", "--"]),
    ("^(['\\-])[a-z]\\1$", ["'a'", "-b-"], ["'a-", "a"]),
    ("(?<=\\$)[0-9]+", ["$5", "a$20"], ["5", "$a"]),
    ("^(?=.{3,5}$)[a-z]*[0-9]?$", ["abc", "abcd1"], ["a1", "abcdef"]),
]


def lengths(i: int, rng: Random) -> Drawn:
    """Bounds of length, in characters and not in bytes, up to 2,000; from 7 on beside a pattern."""
    low, high = [
        (0, 1),
        (1, 1),
        (3, 8),
        (64, 64),
        (0, 500),
        (900, 1000),
        (1999, 2000),
        (2, 4),
        (3, 6),
        (10, 40),
    ][i]
    schema: Schema = {"type": "string", "minLength": low, "maxLength": high}
    if i >= 7:
        schema["pattern"] = ["^[a-z]+$", "^(ab)*$", "[0-9]"][i - 7]
        right = [["ab", "abcd"], ["abab", "ababab"], ["a" * 30 + "7", "0" * 10]][i - 7]
        wrong = [["a", "abcde", "AB"], ["ab", "abababab", "aba"], ["a" * 30, "7", "7" * 41]][i - 7]
        return _member(schema, right, wrong)
    right = ["x" * low, "x" * high, "é" * high, "🙂" * low]
    wrong = ["x" * (high + 1), "🙂" * (high + 1)] + (["é" * (low - 1)] if low else [])
    return _member(schema, right, wrong)


BOUNDS: list[tuple[Schema, list[Any], list[Any]]] = [
    ({"type": "integer", "minimum": 3, "maximum": 17}, [3, 9, 17], [2, 18, 30, 1]),
    ({"type": "integer", "exclusiveMinimum": -105, "exclusiveMaximum": 98}, [-104, 0, 97], [-105, 98, -1000]),
    ({"type": "integer", "minimum": 999}, [999, 1000, 123456], [998, -999, 99]),
    ({"type": "integer", "maximum": -40}, [-40, -400], [-39, 0, 40]),
    ({"type": "integer", "minimum": 1990, "maximum": 2109}, [1990, 2000, 2109], [1989, 2110, 199, 20000]),
    (
        {"type": "integer", "minimum": 0, "maximum": 9007199254740991},
        [0, 9007199254740991],
        [-1, 9007199254740992],
    ),
    ({"type": "number", "minimum": 0, "maximum": 1}, [0, 0.25, 1], [-0.1, 1.01, 2]),
    ({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 0.5}, [0.1, 0.499], [0, 0.5, 0.51, -0.1]),
    ({"type": "number", "minimum": -12.75, "maximum": 3.5}, [-12.75, -3, 3.5], [-12.76, 3.51, 13]),
    ({"type": "number", "minimum": 99.95}, [99.95, 100, 1234.5], [99.94, 9, -100]),
]


def bounds(i: int, rng: Random) -> Drawn:
    return _member(*BOUNDS[i])


MULTIPLES: list[tuple[Schema, list[Any], list[Any]]] = [
    ({"type": "integer", "multipleOf": 2}, [0, 8, -14], [1, 27]),
    ({"type": "integer", "multipleOf": 7}, [0, 49, 700], [1, 50]),
    ({"type": "integer", "multipleOf": 5, "minimum": 10, "maximum": 95}, [10, 95], [12, 5, 100]),
    ({"type": "integer", "multipleOf": 60, "maximum": 600}, [60, 600], [30, 660]),
    ({"type": "integer", "multipleOf": 97}, [97, 970], [98, 96]),
    ({"type": "number", "multipleOf": 0.5}, [1.5, 2, -0.5], [1.25, 0.1]),
    ({"type": "number", "multipleOf": 0.25, "minimum": 0, "maximum": 1}, [0.75, 1], [0.3, 1.25]),
    ({"type": "number", "multipleOf": 100}, [300, 0], [150, 99.5]),
    ({"type": "integer", "allOf": [{"multipleOf": 4}, {"multipleOf": 6}]}, [12, 24, 0], [4, 6, 8]),
    ({"type": "integer", "anyOf": [{"multipleOf": 3}, {"multipleOf": 5}]}, [3, 5, 15], [1, 7]),
]


def multiples(i: int, rng: Random) -> Drawn:
    return _member(*MULTIPLES[i])


SYLLABLES = (
    "ba be bi bo bu da de di do du ka ke ki ko ku la le li lo lu ma me mi mo mu ra re ri ro ru".split()
)


def big_enum(i: int, rng: Random) -> Drawn:
    """500 to 5,000 names that begin alike; some are the beginning of others."""
    count = 500 * (i + 1)
    names: dict[str, None] = {}
    while len(names) < count:
        word = "".join(rng.choices(SYLLABLES, k=rng.randint(2, 5)))
        names[word] = None
        if len(names) < count and rng.random() < 0.3:
            names[f"{word} {rng.choice(SYLLABLES)}"] = None
    known = list(names)
    schema: Schema = {"type": "string", "enum": known} if i % 2 else {"enum": known}
    if i % 3 == 2:
        schema = {"type": "array", "items": schema, "maxItems": 3}
    wrong = [name + "x" for name in known[:3]] + [known[-1] + known[0] + "q", ""]
    right = [known[0], known[-1], known[count // 2]]
    wrapped = (lambda name: [name]) if i % 3 == 2 else (lambda name: name)
    return _member(schema, [wrapped(name) for name in right], [wrapped(name) for name in wrong])


MIXED: list[tuple[list[Any], list[Any]]] = [
    ([1, "1", None, True], [2, "true", False]),
    ([1.5, -2, 1000000], [1.25, 2]),
    ([{"a": 1, "b": [2]}, {"a": 1}], [{"a": 2}, {"a": 1, "b": []}]),
    ([[1, 2], [1], []], [[2], [1, 2, 3]]),
    (['a"b', "c\\d", "e\nf", "\t"], ["a'b", "cd", "e f"]),
    (["", " ", "  "], ["   ", "a"]),
    (["null", "true", "[1]", "{}"], [None, True, [1], {}]),
    (["naïve", "naive", "日本", "🙂"], ["日", "🙃", "nai"]),
    ([{"deep": [{"er": [None, {"est": "x"}]}]}], [{"deep": [{"er": [None]}]}, {}]),
    (["a", "aa", "aaa", "aaaa"], ["aaaaa", ""]),
]


def mixed_enum(i: int, rng: Random) -> Drawn:
    right, wrong = MIXED[i]
    return _member({"const": right[0]} if len(right) == 1 else {"enum": right}, right, wrong)


FORMATS: list[Told] = [
    ("date", ["2024-02-29", "1999-12-31"], ["2024-13-01", "2023-02-29", "24-01-01"]),
    (
        "uuid",
        ["123e4567-e89b-12d3-a456-426614174000"],
        ["123e4567e89b12d3a456426614174000", "123e4567-e89b-12d3-a456-42661417400g"],
    ),
    ("ipv4", ["0.0.0.0", "192.168.1.255"], ["256.1.1.1", "1.2.3", "01.2.3.4"]),
    ("ipv6", ["::1", "2001:db8::ff00:42:8329", "1:2:3:4:5:6:7:8"], ["1::2::3", "12345::", "1:2:3"]),
    ("email", ["a@example.com", "first.last@sub.example.org"], ["plain", "a example.com"]),
]


def formats(i: int, rng: Random) -> Drawn:
    """Formats by themselves, and from 5 on beside another bound."""
    name, right, wrong = FORMATS[i % 5]
    schema: Schema = {"type": "string", "format": name}
    if i < 5:
        return _member(schema, right, wrong)
    more: list[tuple[Schema, list[Any], list[Any]]] = [
        ({"pattern": "^2024-"}, ["2024-02-29"], ["2023-01-01", "2024-02-30"]),
        (
            {"pattern": "^[0-9a-f]{8}-e"},
            ["123e4567-e89b-12d3-a456-426614174000"],
            ["123e4567-a89b-12d3-a456-426614174000"],
        ),
        ({"maxLength": 8}, ["10.0.0.1", "1.1.1.1"], ["192.168.1.1", "1.1.1"]),
        ({"minLength": 6}, ["::1234", "2001:db8::1"], ["::1", "1:2:3:4"]),
        ({"pattern": "@example\\.com$"}, ["a@example.com"], ["a@example.org", "example.com"]),
    ]
    extra, right, wrong = more[i - 5]
    return _member({**schema, **extra}, right, wrong)


def unicode(i: int, rng: Random) -> Drawn:
    """Names and values beyond ASCII, or which JSON must escape."""
    names = ["größe", "名前", "🙂", 'a"b', "c\\d", "e\nf", "", "é́", "\u2028", "tab\t"]
    name = names[i]
    schema = record({name: {"type": "string", "maxLength": 3}, f"{name}2": {"const": f"<{name}>"}})
    good = f"<{name}>"
    right = [
        {name: "日本語", f"{name}2": good},
        {name: '"\\\n', f"{name}2": good},
        {name: "🙂é", f"{name}2": good},
    ]
    wrong = [
        {name: "🙂🙂🙂🙂", f"{name}2": good},
        {name: "a", f"{name}2": "<x>"},
        {f"{name}2": good, f"{name}3": "a"},
    ]
    return Drawn(schema, right, wrong)


FAMILIES = [
    Family(
        "anchored",
        "patterns of the whole text: classes, repeats, groups, characters that JSON escapes",
        lambda i, _: _pattern(ANCHORED[i]),
    ),
    Family(
        "unanchored",
        "patterns that are searched for, which need not begin or end with the text",
        lambda i, _: _pattern(UNANCHORED[i]),
    ),
    Family(
        "lookaround",
        "looking ahead or behind, references back, borders of words: no regular language's spelling",
        lambda i, _: _pattern(LOOKING[i]),
    ),
    Family("lengths", "lengths in characters up to 2,000, alone and beside a pattern", lengths),
    Family("bounds", "numbers between bounds: digits that depend on the digits before", bounds),
    Family("multiples", "`multipleOf`: a property of the number and not of its digits", multiples),
    Family("big_enum", "500 to 5,000 names, some of which begin others", big_enum),
    Family("mixed_enum", "values of any type as enum and const, objects and escapes among them", mixed_enum),
    Family("formats", "date, uuid, ipv4, ipv6, email; alone and beside another bound", formats),
    Family("unicode", "names and values beyond ASCII, or which JSON must escape", unicode),
]
