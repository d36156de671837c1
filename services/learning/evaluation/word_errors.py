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
    """Return the words of a sentence, folded so that two ways of writing the same sound are equal."""
    folded = unicodedata.normalize("NFKD", text.casefold().replace("%", " percent "))
    kept = "".join(sign for sign in folded if not unicodedata.combining(sign) and sign not in "'’")
    words: list[str] = []
    for word in re.findall(r"\d+|[^\W\d_]+", kept):
        words += _spelled(int(word)) if word.isdecimal() else [word]
    return words


def word_errors(utterance: str, transcript: str) -> tuple[int, int]:
    """Return the number of inserted, deleted or substituted words, and of words in the reference."""
    reference = plain_words(utterance)
    return Levenshtein.distance(reference, plain_words(transcript)), len(reference)


@cache
def _names() -> dict[int, str]:
    """The word of each number that is one word, below 100."""
    names: dict[int, str] = {}
    for word, value in english().numbers.items():
        if value < 100:
            names.setdefault(value, word)  # the table has "twelve" before "dozen"
    return names


def _spelled(value: int) -> list[str]:
    """A number up to 99 as it is spoken; larger ones are prices and years, and stay digits."""
    names = _names()
    if value in names:
        return [names[value]]
    if value < 100:
        return [names[value - value % 10], names[value % 10]]
    return [str(value)]
