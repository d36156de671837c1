"""A document of another system, read place by place, so that what was never read of it can be listed."""

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

    What is below is read by names with dots between them, itself by none. What is missing or null is empty;
    so is what has another type, and it is one of the `problems`. These, and the `names` that were read, are
    those of the whole document.
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
        found = self.at(path)
        if must and found.value is None:
            self.problems.append((found.place, "is missing"))
        return found._is(str, "text") or ""

    def flag(self, path: str) -> bool | None:
        return self.at(path)._is(bool, "true or false")

    def whole(self, path: str) -> int | None:
        return self.at(path)._is(int, "a whole number")

    def amount(self, path: str) -> Decimal | None:
        """A number, or a text that is one."""
        found = self.at(path)
        written = found.value if isinstance(found.value, str | int | Decimal) else ""
        if re.fullmatch(r"-?\d+(\.\d+)?", str(written), re.ASCII):
            return Decimal(written)
        return found._is(Decimal, "a number")

    def each(self, path: str = "") -> list[Node]:
        found = self.at(path)
        return [found._below(index, value) for index, value in enumerate(found._is(list, "a list") or ())]

    def keyed(self, path: str) -> dict[str, Node]:
        """An object's values by their keys, which are no names of fields."""
        found = self.at(path)
        return {key: found._below(key, value) for key, value in (found._is(dict, "an object") or {}).items()}

    def texts(self, path: str) -> tuple[str, ...]:
        return tuple(text for one in self.each(path) if (text := one._is(str, "text")))

    def translated(self, path: str) -> str:
        """The first of a text's translations."""
        return next((text for one in self.keyed(path).values() if (text := one._is(str, "text"))), "")

    def unread(self, ignored: Collection[str]) -> Iterator[Note]:
        """List the values whose names were nowhere read, each name once with its first place."""
        places: dict[str, list[str]] = {}
        for place, name in self._unread(ignored):
            places.setdefault(name, []).append(place)
        for name, found in places.items():
            more = f", nor have {len(found) - 1} more like it" if len(found) > 1 else ""
            yield found[0], f"`{name}` has no place in the menu file{more}"

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
