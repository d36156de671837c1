"""What a grammar in Lark is put together from: expressions with their longest text, and places in a list."""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate


@dataclass(frozen=True, slots=True)
class Piece:
    """A Lark expression, the longest text, in bytes, that it matches, and whether the field that holds
    it may be left out (its default is among the open values)."""

    expr: str
    longest: int
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Slot:
    """One place of a list: its body, how often it may stand there, and whether it must."""

    body: Piece | None
    copies: int = 1
    required: bool = False


def escaped(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def whole_words(text: str, part: str) -> str:
    """The words of `text` that hold `part`, where it stands first; empty where it does not."""
    at = text.find(part) if part else -1
    if at < 0:
        return ""
    start, end = text.rfind(" ", 0, at + 1) + 1, text.find(" ", at + len(part))
    return text[start : end if end >= 0 else len(text)]


def fits(anchor: str, chunks: list[str], limit: int) -> bool:
    """Whether a span of whole chunks within `limit` holds `anchor`; if not, asking for it would be a string
    that can't end."""
    ends = list(accumulate(len(chunk) for chunk in chunks))
    for found in re.finditer(re.escape(anchor), "".join(chunks)):
        first, last = bisect_right(ends, found.start()), bisect_left(ends, found.end())
        if ends[last] - (ends[first] - len(chunks[first])) <= limit:
            return True
    return False


def plain(text: str) -> Piece:
    # Lark takes JSON's spelling of strings, but no raw DEL.
    quoted = json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
    return Piece(quoted, len(text.encode()))


def either(pieces: Iterable[Piece | None]) -> Piece | None:
    open_ones = [piece for piece in pieces if piece is not None]
    if not open_ones:
        return None
    longest = max(piece.longest for piece in open_ones)
    if len(open_ones) == 1:
        return Piece(open_ones[0].expr, longest)
    return Piece("(" + " | ".join(piece.expr for piece in open_ones) + ")", longest)
