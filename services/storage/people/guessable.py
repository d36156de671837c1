"""Passwords that are guessed first: long by repetition, by rows of keys, by a common word, by a name."""

from __future__ import annotations

import unicodedata

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
# Of the lists of passwords that leaked, English and Spanish; a longer one goes before what it begins with.
_WORDS = sorted(
    """
    access admin administrador administrator autumn barcelona baseball basketball batman bienvenido changeme
    charlie computer contrasena contraseña cookie daniel default dragon estrella flower football freedom
    google guest hello hola house hunter iloveyou jessica jordan23 killer letmein liverpool login love
    lovely manager master michael michelle monkey motdepasse mustang ninja orange p@ssw0rd p@ssword pass
    passw0rd password passwort pepper player princess qwerty root saycart secret shadow soccer spring
    starwars summer sunshine superman teamo tequiero test trustno1 user welcome whatever winter
    """.split(),
    key=len,
    reverse=True,
)


def is_guessable(password: str, *names: str) -> bool:
    """Return whether too little of a password is left without what is guessed first, among that the `names`
    of its account and shop."""
    text = _letters(password)
    if text in (text + text)[1:-1]:  # one piece over and over
        return True
    for word in (*map(_letters, names), *_WORDS, *_IN_A_ROW):
        if len(word) >= 3:
            text = text.replace(word, " ")
    return len(set(text) - {" "}) < LEAST_LEFT


def _letters(text: str) -> str:
    """Letters, digits and signs, without case, spaces and forms that look alike."""
    return "".join(unicodedata.normalize("NFKC", text).casefold().split())
