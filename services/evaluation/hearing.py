"""Word error rate: what was heard against what was said, whatever the way of writing it down.

Case, punctuation, accents and apostrophes do not count, and a number counts the same in digits and words.
Fillers ("um") stay: leaving them out is an error of hearing, if a harmless one.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

from rapidfuzz.distance import Levenshtein

from services.reading.language.language import Language, language


def plain_words(text: str, code: str = "en") -> list[str]:
    """The words of a sentence in a language, folded so that two ways of writing the same sound are equal."""
    words_of = language(code)
    percent = f" {words_of.spellings['%']} "
    folded = unicodedata.normalize("NFKD", text.casefold().replace("%", percent))
    kept = "".join(c for c in folded if not unicodedata.combining(c) and c not in "'’")
    words: list[str] = []
    for word in re.findall(r"\d+|[^\W\d_]+", kept):
        words += _number(int(word), words_of) if word.isdecimal() else [word]
    return words


def word_errors(said: str, heard: str, code: str = "en") -> tuple[int, int]:
    """Words put in, left out or exchanged, and words said."""
    reference = plain_words(said, code)
    return Levenshtein.distance(reference, plain_words(heard, code)), len(reference)


def numbers_of(text: str, code: str = "en") -> Counter[str]:
    """How often each number is said, but for one, which is said in many ways ("a", "another one")."""
    names = set(language(code).number_names.values()) - {language(code).number_names[1]}
    return Counter(word for word in plain_words(text, code) if word in names)


def _number(value: int, words_of: Language) -> list[str]:
    """A number as it is spoken, up to 99; larger ones are prices and years, and stay digits."""
    names = words_of.number_names
    if value in names and value < 100:
        return [names[value]]
    if value < 100:
        return [names[value - value % 10], *sorted(words_of.between_tens), names[value % 10]]
    return [str(value)]
