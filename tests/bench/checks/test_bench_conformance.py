"""The conformance benchmark counts five schemas correctly for the installed libraries."""

from __future__ import annotations

import os
from typing import Any

import pytest

from tests.bench import conformance
from tests.bench.conformance import counted, tried

PAIR = {"type": "object", "properties": {"a": {"const": 1}, "b": {"type": "null"}}, "required": ["a", "b"]}
CASES: list[conformance.Case] = [
    ("right", PAIR, [({"b": None, "a": 1.0}, True), ({"a": 1}, False), ("é", False)]),
    ("too wide", {"enum": ["é"]}, [("é", False), ("?", False)]),
    ("too narrow", {"enum": ["é"]}, [("é", True), ("?", True)]),
    ("refused", {"$ref": "#/$defs/none"}, [("", True)]),
]


@pytest.mark.parametrize("library", ["llguidance", "xllamacpp"])
def test_each_schema_counts_as_what_its_instances_say(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [tried(case, library) for case in CASES]
    monkeypatch.setitem(conformance.LIBRARIES, library, lambda _: os._exit(3))
    found: dict[str, Any] = counted([*rows, tried(("crash", {}, []), library)])
    assert all(took > 0 for took in found.pop("ms_p50_p95_most"))
    assert found == {
        "schemas": 5,
        "compile": 3,
        "all_right": 1,
        "valid_allowed": [2, 3],
        "invalid_refused": [3, 4],
        "too_narrow": ["too narrow"],
        "too_wide": ["too wide"],
        "ended": ["crash 3"],
    }
