"""A small subset of regular expressions, read into a tree over bytes.

Read: plain characters, `.` (any but a line's end), `[a-z_]`, `[^"]`, `(...)`, `|`, `*`, `+`, `?`, `{3}`,
`{1,5}`, `{2,}`, `\\n`, `\\r`, `\\t`, `\\x41` and a backslash before a sign. Inside square brackets, ASCII
only. The whole text has to match. Everything else is refused, with the place and what to write instead: a
mask that means something else than its author is worse than none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn

from schemas.errors import InputError

ASCII = frozenset(range(0x80))
DEEPEST = 50
_QUANTIFIERS = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t"}
_REFUSED = {
    "^": "the whole text always has to match: leave it out, or write \\^ for the sign",
    "$": "the whole text always has to match: leave it out, or write \\$ for the sign",
    "]": "write \\] for the sign",
    "}": "write \\} for the sign",
    "{": "there is nothing before it to repeat; write \\{ for the sign",
    "*": "there is nothing before it to repeat; write \\* for the sign",
    "+": "there is nothing before it to repeat; write \\+ for the sign",
    "?": "there is nothing before it to repeat; write \\? for the sign",
}


@dataclass(frozen=True)
class OneByte:
    """Any one byte of a set, which is never empty."""

    of: frozenset[int]


@dataclass(frozen=True)
class Row:
    """All parts, one after the other."""

    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Either:
    """One of the parts."""

    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Repeat:
    """A part, `low` to `high` times; `high` None is without end."""

    part: Node
    low: int
    high: int | None


Node = OneByte | Row | Either | Repeat


def _spans(*spans: tuple[int, int]) -> Row:
    return Row(tuple(OneByte(frozenset(range(low, high + 1))) for low, high in spans))


_TAIL = (0x80, 0xBF)
# Every character past ASCII as UTF-8 has it (RFC 3629): two to four bytes, none of them too long a way to
# write it, no half of a surrogate pair, nothing past U+10FFFF.
PAST_ASCII = Either(
    (
        _spans((0xC2, 0xDF), _TAIL),
        _spans((0xE0, 0xE0), (0xA0, 0xBF), _TAIL),
        _spans((0xE1, 0xEC), _TAIL, _TAIL),
        _spans((0xED, 0xED), (0x80, 0x9F), _TAIL),
        _spans((0xEE, 0xEF), _TAIL, _TAIL),
        _spans((0xF0, 0xF0), (0x90, 0xBF), _TAIL, _TAIL),
        _spans((0xF1, 0xF3), _TAIL, _TAIL, _TAIL),
        _spans((0xF4, 0xF4), (0x80, 0x8F), _TAIL, _TAIL),
    )
)


def read(pattern: str) -> Node:
    """The tree of `pattern`. Raises InputError for what is outside the subset."""
    reader = _Reader(pattern)
    tree = reader.choice(0)
    if reader.at < len(pattern):
        reader.refuse("this bracket was never opened; write \\) for the sign")
    return tree


class _Reader:
    """Recursive descent: a choice of rows of repeated atoms."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0

    def refuse(self, why: str) -> NoReturn:
        sign = self.pattern[self.at : self.at + 1] or "the end"
        raise InputError(f"The pattern can't be used at place {self.at + 1} ({sign}): {why}")

    def sees(self, text: str) -> bool:
        return self.pattern.startswith(text, self.at)

    def choice(self, depth: int) -> Node:
        if depth > DEEPEST:
            self.refuse(f"brackets are nested more than {DEEPEST} deep")
        parts = [self.row(depth)]
        while self.sees("|"):
            self.at += 1
            parts.append(self.row(depth))
        return parts[0] if len(parts) == 1 else Either(tuple(parts))

    def row(self, depth: int) -> Node:
        parts: list[Node] = []
        while self.at < len(self.pattern) and not self.sees("|") and not self.sees(")"):
            parts.append(self.repeated(depth))
        return parts[0] if len(parts) == 1 else Row(tuple(parts))

    def repeated(self, depth: int) -> Node:
        part = self.atom(depth)
        counted = re.compile(r"\{(\d{1,4})(,(\d{1,4})?)?\}").match(self.pattern, self.at)
        if counted:
            low = int(counted[1])
            high = int(counted[3]) if counted[3] else None if counted[2] else low
            if high is not None and high < low:
                self.refuse("the greater number comes second")
            self.at = counted.end()
        elif self.pattern[self.at : self.at + 1] in _QUANTIFIERS:
            low, high = _QUANTIFIERS[self.pattern[self.at]]
            self.at += 1
        else:
            return part
        if self.pattern[self.at : self.at + 1] in {*_QUANTIFIERS, "{"} - {""}:
            self.refuse("lazy, possessive and doubled repeats are not read: put brackets round the first")
        return Repeat(part, low, high)

    def atom(self, depth: int) -> Node:
        sign = self.pattern[self.at]
        if sign in _REFUSED:
            self.refuse(_REFUSED[sign])
        if self.sees("(?"):
            self.refuse("groups with a (? are not read: no look-around, no names, no flags; write ( alone")
        if sign == "(":
            self.at += 1
            inside = self.choice(depth + 1)
            if not self.sees(")"):
                self.refuse("a bracket is not closed")
            self.at += 1
            return inside
        if sign == "[":
            return self.set_of_characters()
        if sign == ".":
            self.at += 1
            return Either((OneByte(ASCII - {ord("\n")}), PAST_ASCII))
        return Row(tuple(OneByte(frozenset({byte})) for byte in self.character().encode()))

    def character(self) -> str:
        """One character, escaped or plain."""
        sign = self.pattern[self.at]
        if sign != "\\":
            self.at += 1
            return sign
        number = re.compile(r"\\x([0-7][0-9a-fA-F])").match(self.pattern, self.at)
        if number:
            self.at = number.end()
            return chr(int(number[1], 16))
        escaped = self.pattern[self.at + 1 : self.at + 2]
        if escaped in {"d", "w", "s", "D", "W", "S"}:
            self.refuse("\\d, \\w and \\s mean other signs in other libraries: write [0-9] or the like")
        if not escaped or not escaped.isascii() or escaped.isspace():
            self.refuse("a backslash stands before a sign")
        if escaped.isalnum() and escaped not in _CONTROLS:
            self.refuse("of letters, n, r, t and x with two hexadecimal digits up to 7F alone are read")
        self.at += 2
        return _CONTROLS.get(escaped, escaped)

    def set_of_characters(self) -> Node:
        self.at += 1
        negated = self.sees("^")
        self.at += negated
        found: set[int] = set()
        while not self.sees("]"):
            low = self.member()
            high = low
            if self.sees("-"):
                self.at += 1
                high = self.member()
            if high < low:
                self.refuse("the greater sign comes second")
            found |= set(range(low, high + 1))
        self.at += 1
        if negated:
            return Either((OneByte(ASCII - found), PAST_ASCII)) if found < ASCII else PAST_ASCII
        if not found:
            self.refuse("no sign is in the square brackets")
        return OneByte(frozenset(found))

    def member(self) -> int:
        if self.at >= len(self.pattern):
            self.refuse("a square bracket is not closed")
        if self.sees("[") or self.sees("-") or self.sees("&&") or self.sees("~~"):
            self.refuse("put a backslash before this sign")
        character = self.character()
        if not character.isascii():
            self.at -= 1
            self.refuse("inside square brackets ASCII alone is read: write (é|è)")
        return ord(character)
