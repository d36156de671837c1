"""Word error rate of a transcript, independent of spelling.

Case, punctuation, accents and apostrophes don't count, nor whether English numbers are digits or words.
Fillers ("um") count: omitting them is a transcription error, if a harmless one.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from rapidfuzz.distance import Levenshtein

from services.retrieval.words import english


def plain_words(text: str) -> list[str]:
    """Return the words of a sentence, normalized so that different spellings of the same sound are equal."""
    folded = unicodedata.normalize("NFKD", text.casefold().replace("%", " percent "))
    letters = "".join(c for c in folded if not unicodedata.combining(c) and c not in "'’")
    words: list[str] = []
    for word in re.findall(r"\d+|[^\W\d_]+", letters):
        words += _spelled(int(word)) if word.isdecimal() else [word]
    return words


def word_errors(utterance: str, transcript: str) -> tuple[int, int]:
    """Return how many words were inserted, deleted or substituted, and how many the reference has."""
    reference = plain_words(utterance)
    return Levenshtein.distance(reference, plain_words(transcript)), len(reference)


@cache
def _names() -> dict[int, str]:
    """Return the word for each number below 100 that has one of its own."""
    names: dict[int, str] = {}
    for word, value in english().numbers.items():
        if value < 100:
            names.setdefault(value, word)  # the table has "twelve" before "dozen"
    return names


def _spelled(value: int) -> list[str]:
    """Spell out a number below 100; larger ones are prices and years, and stay digits."""
    names = _names()
    if value in names:
        return [names[value]]
    if value < 100:
        return [names[value - value % 10], names[value % 10]]
    return [str(value)]
