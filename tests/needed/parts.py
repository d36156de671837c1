"""What can be taken away from a language: each word, phrase, rule, alternative of a pattern, or entry."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from services.reading.language.forms import Rule, any_of
from services.reading.language.language import FOLDER, Language, entries, language

_NEVER = re.compile(r"(?!)")
GUARDS = {
    "Refusals.": "what was refused would be ordered",
    "Taking back.": "what was taken back would stay",
    "Denials.": "what was denied would be ordered",
    "Doubts.": "nobody would look",
    "No wishes.": "what was asked, told or counted otherwise would be ordered",
    "Other amounts.": "an option would be ordered in another amount, or though it was refused",
    "Other things.": "a thing would go by the name of another",
}
"""What an entry may guard against, and what would come of it without one of its words."""


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


def stays(table: Mapping[str, Any]) -> set[Any] | None:
    """What stays of an entry though no order needs it: keys of its value, or None for all of it."""
    kept: set[Any] = set()
    for kinds in (table.get("closed", {}), table.get("guards", {})):
        if isinstance(kinds, str):
            return None
        for members in kinds.values():
            kept.update(members.split() if isinstance(members, str) else (tuple(m.split()) for m in members))
    return kept


def parts(code: str) -> Iterator[Part]:
    """Every part of a language, entry by entry, but what stays in any case (`closed`, `guards`)."""
    for name, table in tables(code).items():
        value = getattr(language(code), name)
        kept = stays(table)
        if kept is None or isinstance(value, str):
            continue
        if isinstance(value, re.Pattern):
            # A pattern in pieces is one.
            alternatives = table.get("patterns", [])
            if alternatives[1:]:
                yield from (Part(name, one) for one in alternatives)
            elif value.pattern != _NEVER.pattern:
                yield Part(name)
            continue
        for key in sorted(value, key=str) if isinstance(value, frozenset) else value:
            if isinstance(key, Rule) or key not in kept:
                yield Part(name, key)


def said_in(part: Part, said: str) -> bool:
    """Whether an order says a part as it is written: it need not, to be read otherwise without it."""
    if part.key is None or isinstance(part.key, Rule):
        return False
    if re.search(r"[(|\\]", part.shown):
        return re.search(part.shown, said, re.IGNORECASE) is not None
    return part.shown in said.casefold()


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
