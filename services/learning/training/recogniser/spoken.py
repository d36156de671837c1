"""Spoken orders to learn from: what was recorded, which words, and what is written before them.

Packed, they are one file of numpy's: `samples` (16 bits, 16 kHz, one recording behind the other), `ends`
(where each ends), and `told`, JSON with the words of each and its menu, and the names of each menu.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import Levenshtein

MOST_NAMES, MOST_PROMPT = 48, 223
"""Names of the menu before a recording; and as much as Whisper reads of them, in tokens."""


@dataclass(frozen=True, slots=True)
class Order:
    """A spoken order: its recording (16 bits, 16 kHz), the words, and the menu's names."""

    samples: npt.NDArray[np.int16]
    text: str
    names: tuple[str, ...]


def pack(
    orders: Sequence[tuple[npt.NDArray[np.int16], str, str]], menus: dict[str, list[str]], file: Path
) -> None:
    """Write recordings, their words and their menus' ids to `file`."""
    told = {"orders": [[text, menu] for _, text, menu in orders], "menus": menus}
    np.savez(
        file,
        samples=np.concatenate([samples for samples, _, _ in orders]),
        ends=np.cumsum([len(samples) for samples, _, _ in orders]),
        told=np.frombuffer(json.dumps(told).encode(), np.uint8),
    )


def orders(file: Path) -> list[Order]:
    """What `pack` wrote."""
    packed = dict(np.load(file))
    told = json.loads(packed["told"].tobytes())
    sounds = np.split(packed["samples"], packed["ends"][:-1])
    return [
        Order(samples, written(text), tuple(told["menus"].get(menu, ())))
        for samples, (text, menu) in zip(sounds, told["orders"], strict=True)
    ]


def written(text: str) -> str:
    """An order as a recogniser writes a sentence: a capital first, and an end."""
    text = " ".join(text.split())
    return text[:1].upper() + text[1:] + ("" if text[-1:] in ".?!" else ".")


def hints(order: Order, draw: random.Random) -> str:
    """Names to listen for, as a second hearing has them: the order's own mostly, the last of them last."""
    said = order.text.casefold()
    own = [name for name in order.names if name.casefold() in said and draw.random() < 0.85]
    others = [name for name in order.names if name not in own]
    others = draw.sample(others, min(len(others), draw.randint(3, MOST_NAMES)))
    draw.shuffle(own)
    mixed = [*others, *own]
    for _ in range(draw.randint(0, 6)):  # likeness of sound puts some in another place
        at = draw.randrange(len(mixed))
        mixed.insert(draw.randrange(len(mixed)), mixed.pop(at))
    return f"Order: {', '.join(mixed[-MOST_NAMES:])}."


class Writer:
    """Tokens of what Whisper is to write. `tokenizer`: that of `tokenizer.json`."""

    def __init__(self, tokenizer: Any, language: str) -> None:
        self._tokenizer = tokenizer
        number = tokenizer.token_to_id
        several = number("<|startoftranscript|>") > 50257
        self.end: int = number("<|endoftext|>")
        self._before: int = number("<|startofprev|>")
        spoken = [number(f"<|{language}|>"), number("<|transcribe|>")] if several else []
        self.start: list[int] = [number("<|startoftranscript|>"), *spoken]
        self.first_time: int = number("<|notimestamps|>") + 1

    def prompt(self, names: str | None) -> list[int]:
        """What stands before the text."""
        if names is None:
            return self.start
        return [self._before, *self._words(names)[-MOST_PROMPT:], *self.start]

    def text(self, words: str, span: tuple[float, float]) -> list[int]:
        """The text between its times (s), and the end."""
        first, last = (self.first_time + min(1500, round(time / 0.02)) for time in span)
        return [first, *self._words(words), last, self.end]

    def read(self, tokens: Sequence[int]) -> str:
        text: str = self._tokenizer.decode([token for token in tokens if token < self.end])
        return text.strip()

    def _words(self, text: str) -> list[int]:
        tokens: list[int] = self._tokenizer.encode(" " + text.strip(), add_special_tokens=False).ids
        return tokens


def words(text: str) -> list[str]:
    """Without case and punctuation, as wrong words are counted."""
    kept = "".join(
        sign if sign.isalnum() or sign in "' " else " " for sign in text.casefold().replace("-", " ")
    )
    return kept.split()


def wrong_words(said: str, heard: str) -> tuple[int, int]:
    """Words that would have to be changed, added or taken away, and words that were said."""
    wanted = words(said)
    return Levenshtein.distance(wanted, words(heard)), len(wanted)
