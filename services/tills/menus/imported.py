"""A menu converted from another format, with what was not imported and where each part came from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue

from schemas.menu import Note

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
