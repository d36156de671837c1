"""JSON by a stack machine over bytes: what is still open lies on a stack, and the top of it reads.

An automaton has a fixed number of states and so can't know how many brackets are open; a stack can. Each
frame is a value that was begun and how far it is. Reading a byte puts other frames in the place of the top
one: the same value a byte further on, what has to be read inside of it first, or nothing when it is over.

It is never in two states at once, since after any value comes a comma, a bracket or the end, and none of
these goes on with a value. Alternatives that begin alike (`anyOf`) would need a set of stacks; llguidance's
parser keeps one (Earley), this does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from services.examples.by_hand.automaton import automaton


class Frame(Protocol):
    """Immutable and hashable, so that a stack of them is a state to be kept."""

    def step(self, byte: int) -> Stack | None:
        """The frames in this one's place after `byte`, the top one last, or None where it can't come."""
        ...

    def may_end(self) -> bool:
        """Whole as it is, though more may come (12 of 123)?"""
        ...


Stack = tuple[Frame, ...]


@dataclass(frozen=True)
class Texts:
    """What is left of one of several texts: an enum, a constant, or the brackets and keys in between."""

    left: tuple[bytes, ...]

    def step(self, byte: int) -> Stack | None:
        left = tuple(text[1:] for text in self.left if text and text[0] == byte)
        return None if not left else () if left == (b"",) else (Texts(left),)

    def may_end(self) -> bool:
        return b"" in self.left


@dataclass(frozen=True)
class Integer:
    """From `low` to `high`, of which `written` is there, without leading zeros and never −0."""

    low: int
    high: int
    written: str = ""

    def step(self, byte: int) -> Stack | None:
        if byte not in b"-0123456789":
            return None
        longer = replace(self, written=self.written + chr(byte))
        return (longer,) if longer.leads_somewhere() else None

    def may_end(self) -> bool:
        return self.written not in ("", "-") and self.low <= int(self.written) <= self.high

    def leads_somewhere(self) -> bool:
        """Does a number of the range begin with what is written?"""
        sign, digits = self.written[:1] == "-", self.written.removeprefix("-")
        least, most = (max(-self.high, 1), -self.low) if sign else (max(self.low, 0), self.high)
        if digits == "":
            return least <= most
        if not digits.isdecimal():  # a second sign
            return False
        if digits[0] == "0":
            return digits == "0" and least == 0 and most >= 0
        first, last = int(digits), int(digits)  # all numbers that begin so, one digit more each time
        while first <= most:
            if last >= least:
                return True
            first, last = first * 10, last * 10 + 9
        return False


# One character of a JSON string: itself, or escaped where it has to be. Regular, so the automaton reads it.
CHARACTER = automaton(r'[^"\\\x00-\x1f\x7f]|\\(["\\bfnrt]|u00([01][0-9a-fA-F]|7[fF]))')


@dataclass(frozen=True)
class String:
    """Of `low` to `high` characters. `count` is how many are whole, −1 before the opening quote; `inside` is
    where in a character that takes several bytes it is."""

    low: int
    high: int
    count: int = -1
    inside: int = CHARACTER.start

    def step(self, byte: int) -> Stack | None:
        between = self.inside == CHARACTER.start
        if self.count < 0:
            return (replace(self, count=0),) if byte == ord('"') else None
        if between and byte == ord('"'):
            return () if self.count >= self.low else None
        if between and self.count == self.high:
            return None
        inside = CHARACTER.step(self.inside, byte)
        if inside is None:
            return None
        if CHARACTER.accepts(inside):
            return (String(self.low, self.high, self.count + 1),)
        return (replace(self, inside=inside),)

    def may_end(self) -> bool:
        return False


@dataclass(frozen=True)
class Object:
    """Keys (as JSON text) and values in this order, before its opening bracket."""

    fields: tuple[tuple[bytes, Frame], ...]

    def step(self, byte: int) -> Stack | None:
        if byte != ord("{"):
            return None
        parts: list[Frame] = []
        for number, (key, value) in enumerate(self.fields):
            parts += [Texts(((b"," if number else b"") + key + b":",)), value]
        return tuple(reversed([*parts, Texts((b"}",))]))

    def may_end(self) -> bool:
        return False


@dataclass(frozen=True)
class Array:
    """Of `low` to `high` items. `count` is how many were begun, −1 before the opening bracket."""

    item: Frame
    low: int
    high: int
    count: int = -1

    def step(self, byte: int) -> Stack | None:
        if self.count < 0:
            return (replace(self, count=0),) if byte == ord("[") else None
        if byte == ord("]"):
            return () if self.count >= self.low else None
        if self.count == self.high:
            return None
        one_more = replace(self, count=self.count + 1)
        if self.count > 0:
            return (one_more, self.item) if byte == ord(",") else None
        first = self.item.step(byte)
        return None if first is None else (one_more, *first)

    def may_end(self) -> bool:
        return False


@dataclass(frozen=True)
class Reference:
    """A definition by its name, looked up when its first byte comes: so it may hold itself."""

    name: str
    definitions: Mapping[str, Frame] = field(compare=False, repr=False)

    def step(self, byte: int) -> Stack | None:
        return self.definitions[self.name].step(byte)

    def may_end(self) -> bool:
        return False


@dataclass(frozen=True)
class JsonMachine:
    """A state is the stack. It starts with the whole value to come, and accepts when nothing is open."""

    root: Frame

    @property
    def start(self) -> Stack:
        return (self.root,)

    def step(self, state: Stack, byte: int) -> Stack | None:
        while state:
            *below, top = state
            after = top.step(byte)
            if after is not None:
                return (*below, *after)
            if not top.may_end():
                return None
            state = tuple(below)  # a number that was whole: the byte is for what lies below
        return None

    def accepts(self, state: Stack) -> bool:
        return all(frame.may_end() for frame in state)
