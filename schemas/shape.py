"""Limits on incoming JSON: depth, size and numbers.

Every reader has limits of its own (pydantic's serializer 255 levels, JavaScript integers up to 2^53), and a
body over one of them could be stored but never shown again. These limits are well below all of theirs.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from itertools import islice
from typing import Any

from schemas.field_problems import pointer
from schemas.menu import Note

MAX_DEPTH, MAX_KEY_CHARS = 32, 200
MAX_INTEGER = 2**53 - 1
"""The largest integer that every JSON reader keeps: JavaScript and jq read numbers as 64-bit floats."""
METADATA_BYTES = 8_000
"""Limit of an order's `metadata`, in UTF-8 without spaces. Whole bodies are measured on arrival."""
_MOST = 10

Place = tuple[int | str, ...]


def faults(document: Any, root: str = "", max_bytes: int | None = None) -> list[Note]:
    """Return where a document is over a limit: the first few (JSON pointer, sentence). `root` is the pointer
    to the document."""
    result = [(root + pointer(place) or "/", text) for place, text in islice(_faults(document, ()), _MOST)]
    if not result and max_bytes is not None:
        size = len(json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode())
        if size > max_bytes:
            result.append((root or "/", f"has {size} bytes, over {max_bytes}; keep the rest on your side"))
    return result


def _faults(value: Any, place: Place) -> Iterator[tuple[Place, str]]:
    if not isinstance(value, dict | list):
        if wrong := _own_fault(value):
            yield place, wrong
    elif len(place) >= MAX_DEPTH:
        # Everything inside it is as wrong.
        yield place, f"is nested over {MAX_DEPTH} levels deep; flatten it"
    else:
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            if len(str(key)) > MAX_KEY_CHARS or "\0" in str(key):
                yield place, f"has a key of over {MAX_KEY_CHARS} characters, or with a NUL character"
            else:
                yield from _faults(inner, (*place, key))


def _own_fault(value: Any) -> str:
    if isinstance(value, str):
        return "has a NUL character" if "\0" in value else ""
    if isinstance(value, float):
        return "is too large a number" if math.isinf(value) else ""
    if isinstance(value, int) and abs(value) > MAX_INTEGER:
        return f"is over {MAX_INTEGER}, which not every reader keeps; send it as text"
    return ""
