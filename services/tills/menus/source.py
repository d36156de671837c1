"""What a reader of menus is given, and what it returns: a document of another system, and a menu of ours."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TypeVar

from pydantic import JsonValue

from schemas.field_problems import pointer
from schemas.menu import Note

T = TypeVar("T")
Document = dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Overrides:
    """Menu fields that replace those of the file; `defaults` apply where neither has one."""

    id: str | None = None
    name: str | None = None
    currency: str | None = None
    time_zone: str | None = None
    defaults: Mapping[str, str | None] = field(default_factory=dict)

    def applied_to(self, document: Mapping[str, JsonValue], name: str = "") -> Document:
        """Return the document with these fields, and with `name` where nothing names it."""
        own = {"id": self.id, "name": self.name, "currency": self.currency, "time_zone": self.time_zone}
        layers = ({"name": name}, self.defaults, document, own)
        return {key: value for layer in layers for key, value in layer.items() if value not in (None, "")}


@dataclass(frozen=True, slots=True)
class ImportedMenu:
    """An unchecked menu document. `not_imported` lists what it lacks of the source, with the place there;
    `places` maps JSON pointers of the document to places in the source."""

    document: Document
    not_imported: tuple[Note, ...] = ()
    places: Mapping[str, str] = field(default_factory=dict)

    def located(self, notes: Iterable[Note]) -> list[Note]:
        """Return notes about the document with places in the source instead of JSON pointers."""
        return [
            (self._place(path), re.sub(r"(?<= at )/\S+", lambda other: self._place(other[0]), text))
            for path, text in notes
        ]

    def _place(self, path: str) -> str:
        above = path
        while above and above not in self.places:
            above = above.rpartition("/")[0]
        rest = path.removeprefix(above).removeprefix("/")
        return path if not above else f"{self.places[above]} ({rest})" if rest else self.places[above]


@dataclass(frozen=True, slots=True)
class Node:
    """A value of a document and its JSON pointer. It records what was read, to list the rest.

    Paths are field names separated by dots; the empty path is the value itself. Missing values, null and
    values of the wrong type read as empty; the latter are added to `problems`. All nodes of a document share
    `problems`, `read` (places of values that were read), and `left_out` (places to list nothing below).
    """

    value: object
    place: str = ""
    read: set[str] = field(default_factory=set)
    left_out: set[str] = field(default_factory=set)
    problems: list[Note] = field(default_factory=list)

    def at(self, path: str) -> Node:
        node = self
        for name in path.split(".") if path else ():
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
            self.read.add(node.place)
            return Decimal(number)
        return node._is(Decimal, "a number")

    def each(self, path: str = "") -> list[Node]:
        node = self.at(path)
        return [node._below(index, value) for index, value in enumerate(node._is(list, "a list") or ())]

    def keyed(self, path: str) -> dict[str, Node]:
        """Return an object's values by key, where keys are ids and not field names."""
        node = self.at(path)
        return {key: node._below(key, value) for key, value in (node._is(dict, "an object") or {}).items()}

    def by_id(self, path: str) -> dict[str, Node]:
        """Return a list's parts by their `id`. That alone doesn't count as reading a part."""
        parts = {part.text("id", must=True): part for part in self.each(path)}
        self.read.difference_update(part.place for part in parts.values())
        return parts

    def texts(self, path: str) -> tuple[str, ...]:
        return tuple(text for one in self.each(path) if (text := one._is(str, "text")))

    def translated(self, path: str) -> str:
        """Return the first of a text's translations."""
        return next((text for one in self.keyed(path).values() if (text := one._is(str, "text"))), "")

    def unread(self, ignored: Collection[str]) -> Iterator[Note]:
        """List fields that were never read, each name once with its first place."""
        places: dict[str, list[str]] = {}
        for place in self._unread(ignored):
            name = re.sub(r"(/\d+)+$", "", place).rpartition("/")[2]
            places.setdefault(name, []).append(place)
        for name, (first, *others) in places.items():
            yield first, f"`{name}`" + (f", and {len(others)} more like it" if others else "")

    def _unread(self, ignored: Collection[str]) -> Iterator[str]:
        parts = self.value.items() if isinstance(self.value, dict) else ()
        for key, value in enumerate(self.value) if isinstance(self.value, list) else parts:
            below = self._below(key, value)
            if _is_empty(value) or key in ignored or below.place in self.left_out:
                continue
            if below.place in self.read:
                yield from below._unread(ignored)
            else:
                yield below.place

    def _below(self, key: str | int, value: object) -> Node:
        return replace(self, value=value, place=self.place + pointer([key]))

    def _is(self, kind: type[T], what: str) -> T | None:
        if isinstance(self.value, kind) and isinstance(self.value, bool) == (kind is bool):
            self.read.add(self.place)
            return self.value
        if self.value is not None:
            self.problems.append((self.place, f"must be {what}"))
        return None


def _is_empty(value: object) -> bool:
    """Return True if a value is null, false, zero or "", or has only such values."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return not value or (bool(inner) and all(map(_is_empty, inner)))
