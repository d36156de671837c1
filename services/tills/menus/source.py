"""A document of another system that records which fields were read, to list the others."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TypeVar

from schemas.field_problems import pointer
from schemas.menu import Note

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Node:
    """A value of a document and its JSON pointer.

    Paths are field names separated by dots; the empty path is the value itself. Missing values, null and
    values of the wrong type read as empty; the latter are added to `problems`. All nodes of a document share
    `problems` and `names`, the fields that were read.
    """

    value: object
    place: str = ""
    names: set[str] = field(default_factory=set)
    problems: list[Note] = field(default_factory=list)

    def at(self, path: str) -> Node:
        node = self
        for name in path.split(".") if path else ():
            self.names.add(name)
            node = node._below(name, (node._is(dict, "an object") or {}).get(name))
        return node

    def text(self, path: str = "", *, must: bool = False) -> str:
        node = self.at(path)
        if must and node.value is None:
            self.problems.append((node.place, "is missing"))
        return node._is(str, "text") or ""

    def flag(self, path: str) -> bool | None:
        return self.at(path)._is(bool, "true or false")

    def integer(self, path: str) -> int | None:
        return self.at(path)._is(int, "a whole number")

    def amount(self, path: str) -> Decimal | None:
        """Return a number, which may be written as text."""
        node = self.at(path)
        number = node.value if isinstance(node.value, str | int | Decimal) else ""
        if re.fullmatch(r"-?\d+(\.\d+)?", str(number), re.ASCII):
            return Decimal(number)
        return node._is(Decimal, "a number")

    def each(self, path: str = "") -> list[Node]:
        node = self.at(path)
        return [node._below(index, value) for index, value in enumerate(node._is(list, "a list") or ())]

    def keyed(self, path: str) -> dict[str, Node]:
        """Return an object's values by key, where keys are ids and not field names."""
        node = self.at(path)
        return {key: node._below(key, value) for key, value in (node._is(dict, "an object") or {}).items()}

    def texts(self, path: str) -> tuple[str, ...]:
        return tuple(text for one in self.each(path) if (text := one._is(str, "text")))

    def translated(self, path: str) -> str:
        """Return the first of a text's translations."""
        return next((text for one in self.keyed(path).values() if (text := one._is(str, "text"))), "")

    def unread(self, ignored: Collection[str]) -> Iterator[Note]:
        """List fields that were never read, each name once with its first place."""
        places: dict[str, list[str]] = {}
        for place, name in self._unread(ignored):
            places.setdefault(name, []).append(place)
        for name, (first, *others) in places.items():
            more = f", nor have {len(others)} more like it" if others else ""
            yield first, f"`{name}` has no place in the menu file{more}"

    def _unread(self, ignored: Collection[str]) -> Iterator[tuple[str, str]]:
        if isinstance(self.value, list):
            for index, part in enumerate(self.value):
                yield from self._below(index, part)._unread(ignored)
        elif isinstance(self.value, dict):
            for name, part in self.value.items():
                below = self._below(name, part)
                if name in self.names or name.isdecimal():
                    yield from below._unread(ignored) if name != "translations" else ()
                elif part and name not in ignored:
                    yield below.place, name

    def _below(self, key: str | int, value: object) -> Node:
        return replace(self, value=value, place=self.place + pointer([key]))

    def _is(self, kind: type[T], what: str) -> T | None:
        if isinstance(self.value, kind) and isinstance(self.value, bool) == (kind is bool):
            return self.value
        if self.value is not None:
            self.problems.append((self.place, f"must be {what}"))
        return None
