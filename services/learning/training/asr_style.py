"""Vary written orders as a recognizer might transcribe them, so that the model learns from transcripts.

Random, seeded changes that keep the order the same: lost case and punctuation, numbers as words or digits,
hesitations, sound-alikes.
"""

from __future__ import annotations

import random
import re

NUMBERS = "one two three four five six seven eight nine ten eleven twelve".split()
SOUNDS = {"two": ("to", "too"), "four": ("for",), "for": ("four",), "i'd": ("id",), "i'll": ("ill",)}
FILLERS = ("uh", "um", "like", "er", "you know", "please")
_WORD = re.compile(r"[\w'’]+")


def as_transcribed(text: str, dice: random.Random) -> str:
    """Return `text` with random changes, or none."""
    if dice.random() < 0.35:
        text = _other_numbers(text, to_digits=dice.random() < 0.6)
    if dice.random() < 0.06:
        text = _sound_alike(text, dice)
    if dice.random() < 0.12:
        words = text.split(" ")
        words.insert(dice.randrange(len(words) + 1), dice.choice(FILLERS))
        text = " ".join(words)
    roll = dice.random()
    if roll < 0.3:
        text = re.sub(r"[^\w\s'’&%$/-]", " ", text.lower())
    elif roll < 0.4:
        text = text.lower()
    elif roll < 0.45:
        text = re.sub(r"[,;]", ".", text)
    return " ".join(text.split()) or text


def _other_numbers(text: str, *, to_digits: bool) -> str:
    def convert(match: re.Match[str]) -> str:
        word = match[0]
        if to_digits and word.lower() in NUMBERS[1:]:
            return str(NUMBERS.index(word.lower()) + 1)
        if not to_digits and word.isdigit() and 0 < int(word) <= len(NUMBERS):
            return NUMBERS[int(word) - 1]
        return word

    return _WORD.sub(convert, text)


def _sound_alike(text: str, dice: random.Random) -> str:
    matches = [m for m in _WORD.finditer(text) if m[0].lower() in SOUNDS]
    if not matches:
        return text
    match = dice.choice(matches)
    return text[: match.start()] + dice.choice(SOUNDS[match[0].lower()]) + text[match.end() :]
