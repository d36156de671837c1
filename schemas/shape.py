"""The one rule for JSON that comes in: depth, size and shape.

A body is kept as it came, by two databases, and is written again by a list page, an event stream, a webhook
and an export, for a browser, a till or a Python. Each of them has a limit of its own to depth and numbers
(pydantic's serializer 255 levels, JavaScript 2^53), and what is over one of them can be stored and never
shown again. So what comes in stays well under all of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from schemas.menu import Note

MAX_INTEGER = 2**53 - 1
"""The largest whole number that every JSON reader keeps: JavaScript and jq read numbers as 64-bit floats."""
_TOLD = 10


@dataclass(frozen=True, slots=True)
class Rule:
    """What a document may be. `depth` counts objects and arrays inside each other, `values` everything in
    it, `keys` the members of all its objects, `bytes` its UTF-8 without spaces."""

    depth: int
    values: int
    keys: int
    key_chars: int
    bytes: int | None = None


BODY = Rule(depth=32, values=250_000, keys=250_000, key_chars=200)
"""Every JSON body; a menu of 10,000 items has 130,000 values. Its bytes are counted while it arrives."""
METADATA = Rule(depth=8, values=500, keys=200, key_chars=100, bytes=8_000)
"""The note of the caller's own that an order carries, in a JSON body and in a form alike."""


def faults(document: Any, rule: Rule, root: str = "") -> list[Note]:
    """Where a parsed document breaks a rule: (JSON pointer, sentence), the first few; empty where it keeps
    it. `root` is the pointer to the document itself. Needs no recursion, however deep it is."""
    found: list[Note] = []
    keys = 0
    for values, (pointer, value, depth) in enumerate(_walked(document, root), 1):
        place = pointer or "/"
        if isinstance(value, dict | list) and depth > rule.depth:
            # Everything inside it is as wrong.
            return [*found, (place, f"is nested over {rule.depth} levels deep; flatten it")]
        if isinstance(value, dict):
            keys += len(value)
        found += [(place, sentence) for sentence in _own_faults(value, rule)]
        if keys > rule.keys or values > rule.values:
            few = f"at most {rule.keys} keys and {rule.values} values; leave some out"
            return [*found[:_TOLD], (root or "/", f"holds too much: {few}")]
        if len(found) >= _TOLD:
            return found
    if not found and rule.bytes is not None and (size := _size(document)) > rule.bytes:
        found.append((root or "/", f"has {size} bytes, over {rule.bytes}; keep the rest on your side"))
    return found


def _own_faults(value: Any, rule: Rule) -> Iterator[str]:
    """What breaks the rule in a value itself, apart from what is around or inside it."""
    if isinstance(value, dict):
        for key in value:
            if len(key) > rule.key_chars:
                yield f"has a key of over {rule.key_chars} characters ({key[:20]!r}...); shorten it"
    elif isinstance(value, int) and abs(value) > MAX_INTEGER:
        yield f"is over {MAX_INTEGER}, which not every reader keeps; send it as text"


def _size(document: Any) -> int:
    return len(json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode())


def _walked(document: Any, root: str) -> Iterator[tuple[str, Any, int]]:
    """Each value with its pointer and how many levels deep it is, itself counted."""
    waiting: list[tuple[str, Any, int]] = [(root, document, 1)]
    while waiting:
        pointer, value, depth = waiting.pop()
        yield pointer, value, depth
        if isinstance(value, dict):
            waiting += [(f"{pointer}/{_escaped(key)}", inner, depth + 1) for key, inner in value.items()]
        elif isinstance(value, list):
            waiting += [(f"{pointer}/{index}", inner, depth + 1) for index, inner in enumerate(value)]


def _escaped(key: str) -> str:
    return key[:80].replace("~", "~0").replace("/", "~1")
