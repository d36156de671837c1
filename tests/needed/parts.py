"""What can be taken away from a language: each word, phrase, rule, alternative of a pattern, or entry."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from services.reading.language.forms import any_of
from services.reading.language.language import FOLDER, Language, entries, language

_NEVER = re.compile(r"(?!)")


@dataclass(frozen=True)
class Part:
    """One thing of an entry: `key` is what its value loses, None where it loses all."""

    entry: str
    key: Any = None

    @property
    def shown(self) -> str:
        """As it is written in the entry's file."""
        if self.key is None:
            return "the whole entry"
        return " ".join(map(str, self.key)) if isinstance(self.key, tuple) else str(self.key)


@cache
def tables(code: str) -> dict[str, dict[str, Any]]:
    """Every entry of a language as it is written, by name."""
    return {
        name: table
        for file in sorted((FOLDER / code).glob("*.toml"))
        for name, table in entries(file).items()
    }


def parts(code: str) -> Iterator[Part]:
    """Every part of a language, entry by entry, but members of closed classes (`closed`), which stay."""
    for name, table in tables(code).items():
        value = getattr(language(code), name)
        closed = table.get("closed", {})
        if isinstance(closed, str) or isinstance(value, str):
            continue
        stay = {word for members in closed.values() for word in members.split()}
        if isinstance(value, re.Pattern):
            # A pattern in pieces is one.
            alternatives = table.get("patterns", [])
            if alternatives[1:]:
                yield from (Part(name, one) for one in alternatives)
            elif value.pattern != _NEVER.pattern:
                yield Part(name)
            continue
        for key in sorted(value, key=str) if isinstance(value, frozenset) else value:
            if not isinstance(key, str) or key not in stay:
                yield Part(name, key)


def whole(code: str) -> Iterator[Part]:
    """Every entry that has parts."""
    yield from map(Part, dict.fromkeys(part.entry for part in parts(code)))


def without(code: str, gone: Iterable[Part]) -> Language:
    """A language that lacks some parts."""
    full = language(code)
    fields = {field: getattr(full, field) for field in Language.model_fields}
    lost: dict[str, list[Any]] = {}
    for part in gone:
        lost.setdefault(part.entry, []).append(part.key)
    for name, keys in lost.items():
        fields[name] = _less(fields[name], tables(code)[name], keys)
    return Language.model_construct(**fields)


def _less(value: Any, table: Mapping[str, Any], keys: list[Any]) -> Any:
    """An entry's value without some keys; without all of them where one is None."""
    all_go = None in keys
    if isinstance(value, re.Pattern):
        left = [] if all_go else [one for one in table["patterns"] if one not in keys]
        return re.compile("".join(any_of(left)), re.IGNORECASE) if left else _NEVER
    if isinstance(value, Mapping):
        return {} if all_go else {key: one for key, one in value.items() if key not in keys}
    return type(value)(() if all_go else (one for one in value if one not in keys))
