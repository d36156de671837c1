"""Passwords that are guessed first: long by repetition, by rows of keys, by a common word, by a name."""

from __future__ import annotations

import unicodedata
from functools import cache

# Characters that must be left of a password once all that is guessed first is taken away.
LEAST_LEFT = 6
# Rows of keys and of the alphabet, as they are typed from either end.
_ROWS = tuple(
    """
    abcdefghijklmnopqrstuvwxyz 01234567890 qwertyuiop asdfghjkl zxcvbnm qwertzuiop azertyuiop qweasdzxc
    1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik9ol0p qazwsxedcrfvtgbyhnujmikolp 1q2w3e4r5t6y7u8i9o0p q1w2e3r4t5y6u7i8o9p0
    112233445566778899 aabbccddeeffgghh
    """.split()
)
_IN_A_ROW = [way[at : at + 4] for row in _ROWS for way in (row, row[::-1]) for at in range(len(row) - 3)]
# What the English list of leaked passwords lacks: Spanish and French ones, a shop's, and first accounts.
_OWN = """
    administrador administrator autumn bienvenido contrasena contraseña default estrella guest login manager
    motdepasse root saycart teamo tequiero user
    """.split()
# Of zxcvbn's lists, so many words of at least 4 characters. With "1234" or "2024!" behind each of the first
# 1,000 passwords, all are refused; of 1,000 passphrases of four random English words, none is.
_TAKEN = {"passwords": 5_000, "female_names": 500, "male_names": 500}


def is_guessable(password: str, *names: str) -> bool:
    """Return whether too little of a password is left without what is guessed first, among that the `names`
    of its account and shop."""
    text = _letters(password)
    leaked, words = _leaked()
    if text in leaked or text in (text + text)[1:-1]:  # one piece over and over
        return True
    for word in (*map(_letters, names), *words, *_IN_A_ROW):
        if len(word) >= 3:
            text = text.replace(word, " ")
    return len(set(text) - {" "}) < LEAST_LEFT


@cache
def _leaked() -> tuple[frozenset[str], list[str]]:
    """Return all leaked passwords, and the words to take away, longer ones before what they begin with."""
    from zxcvbn.frequency_lists import FREQUENCY_LISTS  # lazy: only a new password needs it

    words = set(_OWN)
    for name, most in _TAKEN.items():
        words.update([word for word in FREQUENCY_LISTS[name] if len(word) >= 4][:most])
    return frozenset(FREQUENCY_LISTS["passwords"]), sorted(words, key=len, reverse=True)


def _letters(text: str) -> str:
    """Letters, digits and signs, without case, spaces and forms that look alike."""
    return "".join(unicodedata.normalize("NFKC", text).casefold().split())
