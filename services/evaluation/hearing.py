"""Word error rate: what was heard against what was said, whatever the way of writing it down.

Case, punctuation, accents and apostrophes do not count, and a number counts the same in digits and words.
Fillers ("um") stay: leaving them out is an error of hearing, if a harmless one.
"""

from __future__ import annotations

import re
import unicodedata

from rapidfuzz.distance import Levenshtein

from services.reading.language.english import NUMBERS

# Value -> its plain word: the first one written for it ("two", not "double").
_WORDS = {value: word for word, value in reversed(list(NUMBERS.items()))} | {0: "zero"}


def plain_words(text: str) -> list[str]:
    """The words of a sentence, folded so that two ways of writing the same sound are equal."""
    folded = unicodedata.normalize("NFKD", text.casefold().replace("%", " percent "))
    kept = "".join(c for c in folded if not unicodedata.combining(c) and c not in "'’")
    words: list[str] = []
    for word in re.findall(r"\d+|[^\W\d_]+", kept):
        words += _number(int(word)) if word.isdecimal() else [word]
    return words


def word_errors(said: str, heard: str) -> tuple[int, int]:
    """Words put in, left out or exchanged, and words said."""
    reference = plain_words(said)
    return Levenshtein.distance(reference, plain_words(heard)), len(reference)


def _number(value: int) -> list[str]:
    """A number as it is spoken, up to 99; larger ones are prices and years, and stay digits."""
    if value in _WORDS and value < 100:
        return [_WORDS[value]]
    if value < 100:
        return [_WORDS[value - value % 10], _WORDS[value % 10]]
    return [str(value)]
