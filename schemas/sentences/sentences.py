"""Customer sentences in the language of their menu: one TOML file per language in this folder.

A language without a file gets English. All files have the same keys with the same placeholders, as
`tests/unit/service/test_sentences_told.py` checks. Staff pages are English.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent
KNOWN = frozenset(file.stem for file in FOLDER.glob("*.toml"))
"""Two-letter codes of the languages that have sentences."""
ENGLISH = "en"


@dataclass(frozen=True, slots=True)
class Sentences:
    """One language's sentences by key. `before` maps a conjunction to a pattern of the words before which it
    changes, and its other form ("y" to "e")."""

    code: str
    texts: Mapping[str, str]
    before: Mapping[str, tuple[str, str]]

    def __call__(self, key: str, **values: object) -> str:
        """Return the sentence of `key` with its values filled in."""
        return self.texts[key].format(**values)

    def joined(self, names: Iterable[str], joint: str = "and") -> str:
        """Join names with commas, the last with "and" or "or"."""
        *most, last = names
        pattern, other = self.before.get(joint, ("(?!)", ""))
        word = other if re.match(rf"\W*(?:{pattern})", last, re.IGNORECASE) else self.texts[joint]
        return f"{', '.join(most)} {word} {last}" if most else last


def sentences(language: str) -> Sentences:
    """Return the sentences of a language such as "es" or "es-MX", or the English ones if it has none."""
    code = language[:2]
    return _read(code if code in KNOWN else ENGLISH)


@cache
def _read(code: str) -> Sentences:
    tables = tomllib.loads((FOLDER / f"{code}.toml").read_text(encoding="utf-8"))
    before = tables.pop("before", {})
    texts = {key: text for table in tables.values() for key, text in table.items()}
    return Sentences(code, texts, {joint: (pattern, other) for joint, (pattern, other) in before.items()})
