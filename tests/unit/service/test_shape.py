"""The rule for JSON that comes in: depth, size, keys and numbers, each with a pointer and how to mend it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from schemas.shape import MAX_INTEGER, METADATA_BYTES, faults
from services.api.gate.bodies import parse_json
from services.api.problems import RequestRefused


def nested(levels: int) -> Any:
    document: Any = {}
    for _ in range(levels - 1):
        document = {"a": document}
    return document


@pytest.mark.parametrize(
    ("document", "pointer", "said"),
    [
        (nested(33), "/metadata" + "/a" * 32, "flatten"),
        ({"a": {"b": [MAX_INTEGER + 1]}}, "/metadata/a/b/0", "send it as text"),
        ({"a": -MAX_INTEGER - 1}, "/metadata/a", "send it as text"),
        ({"a/b~": {"k" * 201: 1}}, "/metadata/a~1b~0", "over 200"),
        ({"a": ["b\0"]}, "/metadata/a/0", "NUL"),
        ({"b\0": 1}, "/metadata", "NUL"),
        ({"a": float("inf")}, "/metadata/a", "too large"),
        ({"a": "é" * 4000}, "/metadata", "8000"),
    ],
)
def test_what_metadata_may_not_be(document: Any, pointer: str, said: str) -> None:
    ((where, sentence),) = faults(document, "/metadata", METADATA_BYTES)
    assert where == pointer
    assert said in sentence


@pytest.mark.parametrize(
    "document",
    [
        nested(32),
        {"a": MAX_INTEGER, "b": -MAX_INTEGER, "c": 1e300, "d": True, "e": None},
        {"k" * 200: [0] * 3_800},
        {"a": "é" * 3996},
        {},
    ],
)
def test_what_metadata_may_be(document: Any) -> None:
    assert faults(document, max_bytes=METADATA_BYTES) == []
    assert parse_json(json.dumps(document), max_bytes=METADATA_BYTES) == document


@pytest.mark.parametrize(
    ("levels", "said"), [(33, "over 32 levels deep; flatten it"), (100_000, "recursion limit exceeded")]
)
@pytest.mark.parametrize("around", [('{"a":', "}"), ("[", "]")])
def test_no_depth_is_a_fault_of_ours(levels: int, said: str, around: tuple[str, str]) -> None:
    with pytest.raises((RequestRefused, ValueError), match=said):
        parse_json(around[0] * levels + "1" + around[1] * levels)


@pytest.mark.parametrize(
    ("digits", "said"), [(17, "/a/0: is over"), (400, "/a/0"), (500_000, "out of range")]
)
def test_no_number_is_a_fault_of_ours(digits: int, said: str) -> None:
    with pytest.raises((RequestRefused, ValueError), match=said):
        parse_json('{"a": [-' + "9" * digits + "]}")


def test_a_thousand_faults_are_told_by_the_first_few() -> None:
    assert len(faults([MAX_INTEGER + 1] * 1000)) == 10
