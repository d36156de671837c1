"""The one rule for JSON that comes in: depth, size and shape.

A body is kept as it came, by two databases, and is written again by a list page, an event stream, a webhook
and an export, for a browser, a till or a Python. Each of them has a limit of its own to depth and numbers
(pydantic's serializer 255 levels, JavaScript 2^53), and what is over one of them can be stored and never
shown again. So what comes in stays well under all of them.
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
"""The largest whole number that every JSON reader keeps: JavaScript and jq read numbers as 64-bit floats."""
_MOST = 10

Place = tuple[int | str, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """What a document may be. `depth` counts objects and arrays inside each other, `bytes` its UTF-8 without
    spaces."""

    depth: int
    key_chars: int
    bytes: int | None = None


BODY = Rule(depth=32, key_chars=200)
"""Every JSON body; its bytes are counted while it arrives."""
METADATA = Rule(depth=8, key_chars=100, bytes=8_000)
"""The note of the caller's own that an order carries, in a JSON body and in a form alike."""


def faults(document: Any, rule: Rule, root: str = "") -> list[Note]:
    """Where a parsed document breaks a rule: (JSON pointer, sentence), the first few; empty where it keeps
    it. `root` is the pointer to the document itself."""
    found = [
        (root + pointer(place) or "/", text) for place, text in islice(_faults(document, rule, ()), _MOST)
    ]
    if not found and rule.bytes is not None:
        size = len(json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode())
        if size > rule.bytes:
            found.append((root or "/", f"has {size} bytes, over {rule.bytes}; keep the rest on your side"))
    return found


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
