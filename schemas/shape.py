"""Limits on incoming JSON: depth, size and numbers.

Every reader has limits of its own (pydantic's serializer 255 levels, JavaScript integers up to 2^53), and a
body over one of them could be stored but never shown again. These limits are well below all of theirs.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from schemas.field_problems import pointer
from schemas.menu import Note

MAX_INTEGER = 2**53 - 1
"""The largest integer that every JSON reader keeps: JavaScript and jq read numbers as 64-bit floats."""
_MOST = 10

Place = tuple[int | str, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """Limits of a document: `depth` of nested objects and arrays, `bytes` of UTF-8 without spaces."""

    depth: int
    key_chars: int
    bytes: int | None = None


BODY = Rule(depth=32, key_chars=200)
"""For every JSON body; its bytes are counted on arrival."""
METADATA = Rule(depth=8, key_chars=100, bytes=8_000)
"""For an order's `metadata`, in a JSON body or a form."""


def faults(document: Any, rule: Rule, root: str = "") -> list[Note]:
    """Return where a document breaks a rule: the first few (JSON pointer, sentence). `root` is the pointer to
    the document."""
    result = [
        (root + pointer(place) or "/", text) for place, text in islice(_faults(document, rule, ()), _MOST)
    ]
    if not result and rule.bytes is not None:
        size = len(json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode())
        if size > rule.bytes:
            result.append((root or "/", f"has {size} bytes, over {rule.bytes}; keep the rest on your side"))
    return result


def _faults(value: Any, rule: Rule, place: Place) -> Iterator[tuple[Place, str]]:
    if not isinstance(value, dict | list):
        if wrong := _own_fault(value):
            yield place, wrong
    elif len(place) >= rule.depth:
        # Everything inside it is as wrong.
        yield place, f"is nested over {rule.depth} levels deep; flatten it"
    else:
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            if wrong := _key_fault(str(key), rule):
                yield place, wrong
            else:
                yield from _faults(inner, rule, (*place, key))


def _key_fault(key: str, rule: Rule) -> str:
    if len(key) > rule.key_chars:
        return f"has a key of over {rule.key_chars} characters ({key[:20]!r}...); shorten it"
    return "has a key with a NUL character" if "\0" in key else ""


def _own_fault(value: Any) -> str:
    if isinstance(value, str):
        return "has a NUL character" if "\0" in value else ""
    if isinstance(value, float):
        return "is too large a number" if math.isinf(value) else ""
    if isinstance(value, int) and abs(value) > MAX_INTEGER:
        return f"is over {MAX_INTEGER}, which not every reader keeps; send it as text"
    return ""
