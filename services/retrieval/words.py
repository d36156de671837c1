"""Words of a transcript and of a menu, folded so that what sounds the same compares equal."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_LETTERS_AND_DIGITS = re.compile(r"(?<=\d)(?=[^\W\d])(?!st\b|nd\b|rd\b|th\b)|(?<=[^\W\d])(?=\d)")
_DATA = Path(__file__).with_name("english.toml")
MEASURED = frozenset({"en"})
"""Languages in which it was measured how far a reader and a second recognizer may be believed. Orders in any
other are a person's to accept."""


@dataclass(frozen=True, slots=True)
class Word:
    """One word: how it compares (`stem`), and where it stands in the text, in characters."""

    stem: str
    folded: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Language:
    """The closed words of a language: numbers by word, and words that need no explanation in an order."""

    numbers: dict[str, int]
    spelled: dict[str, str]
    small_words: frozenset[str]


@cache
def english() -> Language:
    """The tables of `english.toml`, read once."""
    tables = tomllib.loads(_DATA.read_text(encoding="utf-8"))
    return Language(
        numbers=dict(tables["numbers"]),
        spelled=dict(tables["spelled"]),
        small_words=frozenset(" ".join(tables["small_words"].values()).split()),
    )


def words(text: str) -> tuple[Word, ...]:
    """The words of `text`, in order; "8oz" is two."""
    return tuple(
        Word(stem(folded), folded, start, end)
        for match in _WORD.finditer(text)
        for start, end in _parts(match)
        if (folded := fold(text[start:end]))
    )


def stems(text: str) -> tuple[str, ...]:
    """How a name of the menu compares: its words' stems, without "and"."""
    spoken = text.replace("&", " and ").replace("%", " percent ")
    return tuple(word.stem for word in words(spoken) if word.stem != "and")


def fold(word: str) -> str:
    """Lower case, without accents, apostrophes and a possessive ending."""
    plain = unicodedata.normalize("NFKD", word.casefold())
    letters = "".join(sign for sign in plain if not unicodedata.combining(sign))
    return re.sub(r"['’]s$", "", letters).replace("'", "").replace("’", "")


def stem(folded: str) -> str:
    """A folded word in the singular, a number word as its digits, and one spelling of a few words."""
    known = english()
    folded = known.spelled.get(folded, folded)
    if folded in known.numbers:
        return str(known.numbers[folded])
    if len(folded) <= 3 or not folded.endswith("s") or folded.endswith(("ss", "us", "is")):
        return folded
    if folded.endswith("ies") and len(folded) > 4:
        return folded[:-3] + "y"
    if folded.endswith(("shes", "ches", "xes", "sses", "zes", "oes")):
        return folded[:-2]
    return folded[:-1]


def windows(spoken: Sequence[Word], longest: int) -> Iterator[tuple[int, int]]:
    """Every run of 1 to `longest` words, as (first, behind the last)."""
    for start in range(len(spoken)):
        for end in range(start + 1, min(start + longest, len(spoken)) + 1):
            yield start, end


def _parts(match: re.Match[str]) -> Iterator[tuple[int, int]]:
    cuts = [match.start(), *(match.start() + cut.start() for cut in _LETTERS_AND_DIGITS.finditer(match[0]))]
    yield from zip(cuts, [*cuts[1:], match.end()], strict=True)
