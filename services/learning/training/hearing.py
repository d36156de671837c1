"""Words as a recogniser might have written them: what makes a reader robust that learns from written text.

Drawn from a seed: letters' case and punctuation lost, numbers as words or as digits, a hesitation, a word
that sounds like another. None of it changes what is ordered.
"""

from __future__ import annotations

import random
import re

NUMBERS = "one two three four five six seven eight nine ten eleven twelve".split()
SOUNDS = {"two": ("to", "too"), "four": ("for",), "for": ("four",), "i'd": ("id",), "i'll": ("ill",)}
FILLERS = ("uh", "um", "like", "er", "you know", "please")
_WORD = re.compile(r"[\w'’]+")


def as_heard(said: str, dice: random.Random) -> str:
    """`said`, perhaps as a recogniser writes it."""
    if dice.random() < 0.35:
        said = _other_numbers(said, to_digits=dice.random() < 0.6)
    if dice.random() < 0.06:
        said = _sounding(said, dice)
    if dice.random() < 0.12:
        words = said.split(" ")
        words.insert(dice.randrange(len(words) + 1), dice.choice(FILLERS))
        said = " ".join(words)
    roll = dice.random()
    if roll < 0.3:
        said = re.sub(r"[^\w\s'’&%$/-]", " ", said.lower())
    elif roll < 0.4:
        said = said.lower()
    elif roll < 0.45:
        said = re.sub(r"[,;]", ".", said)
    return " ".join(said.split()) or said


def _other_numbers(said: str, *, to_digits: bool) -> str:
    def other(match: re.Match[str]) -> str:
        word = match[0]
        if to_digits and word.lower() in NUMBERS[1:]:
            return str(NUMBERS.index(word.lower()) + 1)
        if not to_digits and word.isdigit() and 0 < int(word) <= len(NUMBERS):
            return NUMBERS[int(word) - 1]
        return word

    return _WORD.sub(other, said)


def _sounding(said: str, dice: random.Random) -> str:
    places = [m for m in _WORD.finditer(said) if m[0].lower() in SOUNDS]
    if not places:
        return said
    place = dice.choice(places)
    return said[: place.start()] + dice.choice(SOUNDS[place[0].lower()]) + said[place.end() :]
