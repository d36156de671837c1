"""Detects passwords that are easy to guess: repetitions, keyboard rows, common words and names."""

from __future__ import annotations

import unicodedata
from functools import cache

# Different characters that must remain of a password without its guessable parts.
MIN_REMAINING = 6
# Keyboard rows and the alphabet, which are matched in both directions.
_ROWS = tuple(
    """
    abcdefghijklmnopqrstuvwxyz 01234567890 qwertyuiop asdfghjkl zxcvbnm qwertzuiop azertyuiop qweasdzxc
    1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik9ol0p qazwsxedcrfvtgbyhnujmikolp 1q2w3e4r5t6y7u8i9o0p q1w2e3r4t5y6u7i8o9p0
    112233445566778899 aabbccddeeffgghh
    """.split()
)
_IN_A_ROW = [way[at : at + 4] for row in _ROWS for way in (row, row[::-1]) for at in range(len(row) - 3)]
# Common passwords that zxcvbn's English lists lack.
_OWN = """
    administrador administrator autumn bienvenido contrasena contraseña default estrella guest login manager
    motdepasse root saycart teamo tequiero user
    """.split()
# How many words of at least 4 characters to use of each of zxcvbn's lists.
_LISTS = {"passwords": 5_000, "female_names": 500, "male_names": 500}


def is_guessable(password: str, *names: str) -> bool:
    """Return True if too little of a password remains without common words, keyboard rows, and the `names`
    of its account and shop."""
    text = _letters(password)
    leaked, words = _leaked()
    if text in leaked or text in (text + text)[1:-1]:  # a repeated piece
        return True
    for word in (*map(_letters, names), *words, *_IN_A_ROW):
        if len(word) >= 3:
            text = text.replace(word, " ")
    return len(set(text) - {" "}) < MIN_REMAINING


@cache
def _leaked() -> tuple[frozenset[str], list[str]]:
    """Return all leaked passwords, and the common words, longest first."""
    from zxcvbn.frequency_lists import FREQUENCY_LISTS  # lazy: only a new password needs it

    words = set(_OWN)
    for name, most in _LISTS.items():
        words.update([word for word in FREQUENCY_LISTS[name] if len(word) >= 4][:most])
    return frozenset(FREQUENCY_LISTS["passwords"]), sorted(words, key=len, reverse=True)


def _letters(text: str) -> str:
    """Return the text without case, spaces, and compatibility forms."""
    return "".join(unicodedata.normalize("NFKC", text).casefold().split())
