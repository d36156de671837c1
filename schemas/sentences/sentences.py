"""What customers are told and asked, in the language of their menu: one file a language, beside this.

A language without a file of its own is spoken to in English. All files have the same sentences, with the same
values to fill in, which `tests/unit/service/test_sentences_told.py` walks. Staff pages are English.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent
ENGLISH = "en"


@dataclass(frozen=True, slots=True)
class Sentences:
    """One language's sentences by their keys. `before` has what a joint becomes before some words: by joint a
    pattern of how they begin, and the other joint."""

    code: str
    told: Mapping[str, str]
    before: Mapping[str, tuple[str, str]]

    def __call__(self, key: str, **values: object) -> str:
        """The sentence of `key`, with its values filled in."""
        return self.told[key].format(**values)

    def joined(self, names: Iterable[str], joint: str = "and") -> str:
        """Names in a row, the last behind "and" or "or"."""
        *most, last = names
        pattern, other = self.before.get(joint, ("(?!)", ""))
        word = other if re.match(rf"\W*(?:{pattern})", last, re.IGNORECASE) else self.told[joint]
        return f"{', '.join(most)} {word} {last}" if most else last


def sentences(language: str) -> Sentences:
    """The sentences of a language such as "es" or "es-MX"; the English ones where it has none."""
    code = language[:2]
    return _read(code if code in known() else ENGLISH)


@cache
def known() -> frozenset[str]:
    """The languages that have sentences, by their two letters."""
    return frozenset(file.stem for file in FOLDER.glob("*.toml"))


@cache
def _read(code: str) -> Sentences:
    tables = tomllib.loads((FOLDER / f"{code}.toml").read_text(encoding="utf-8"))
    before = tables.pop("before", {})
    told = {key: text for table in tables.values() for key, text in table.items()}
    return Sentences(code, told, {joint: (pattern, other) for joint, (pattern, other) in before.items()})
