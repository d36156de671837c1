"""The words of transcripts and menus, normalized so that variants compare equal."""

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
"""Languages in which the models' confidence was measured. A person reviews orders in any other."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word: its normalized form (`stem`), and its character span [`start`, `end`)."""

    stem: str
    folded: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Language:
    """A language's number words, spelling variants, and function words, which mean nothing on a menu; and, as
    regular expressions, what says an amount and what a customer corrects themselves with."""

    numbers: dict[str, int]
    spelled: dict[str, str]
    small_words: frozenset[str]
    amounts: dict[str, str]
    corrections: str


@cache
def english() -> Language:
    """Return the tables of `english.toml`."""
    tables = tomllib.loads(_DATA.read_text(encoding="utf-8"))
    return Language(
        numbers=dict(tables["numbers"]),
        spelled=dict(tables["spelled"]),
        small_words=frozenset(" ".join(tables["small_words"].values()).split()),
        amounts=dict(tables["amounts"]),
        corrections=tables["corrections"]["words"],
    )


def words(text: str) -> tuple[Word, ...]:
    """Return the words of `text`; "8oz" is two."""
    return tuple(
        Word(stem(folded), folded, start, end)
        for match in _WORD.finditer(text)
        for start, end in _parts(match)
        if (folded := fold(text[start:end]))
    )


def stems(text: str) -> tuple[str, ...]:
    """Return the normalized form of a menu name: its words' stems, without "and"."""
    spoken = text.replace("&", " and ").replace("%", " percent ")
    return tuple(word.stem for word in words(spoken) if word.stem != "and")


def fold(word: str) -> str:
    """Return a word in lower case, without accents, apostrophes and possessive ending."""
    plain = unicodedata.normalize("NFKD", word.casefold())
    letters = "".join(char for char in plain if not unicodedata.combining(char))
    return re.sub(r"['’]s$", "", letters).replace("'", "").replace("’", "")


def stem(folded: str) -> str:
    """Return a folded word in the singular, a number word as digits, and one spelling for variants."""
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


def windows(spoken: Sequence[object], longest: int) -> Iterator[tuple[int, int]]:
    """Yield every run of 1 to `longest` words, as (first, one past the last)."""
    for start in range(len(spoken)):
        for end in range(start + 1, min(start + longest, len(spoken)) + 1):
            yield start, end


def _parts(match: re.Match[str]) -> Iterator[tuple[int, int]]:
    cuts = [match.start(), *(match.start() + cut.start() for cut in _LETTERS_AND_DIGITS.finditer(match[0]))]
    yield from zip(cuts, [*cuts[1:], match.end()], strict=True)
