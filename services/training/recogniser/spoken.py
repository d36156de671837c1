"""Spoken orders to learn from: which recording, which words, and what is written before them.

A manifest is JSON lines: `file` (FLAC of 16 kHz, beside the manifest), `text` and `menu` (an id of `menus.json`
there, which has each menu's names). New lines may come while it is read.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MOST_NAMES, MOST_PROMPT = 48, 223
"""As many names as `second_hearing.MAX_HINTS`, and of what stands before a recording Whisper reads so much."""


@dataclass(frozen=True, slots=True)
class Order:
    """A spoken order: its recording, the words, and the menu's names."""

    file: Path
    text: str
    names: tuple[str, ...]


def orders(folder: Path) -> list[Order]:
    """All of the manifests in `folder`, whose recordings are there."""
    names = {menu: tuple(of) for menu, of in json.loads((folder / "menus.json").read_text()).items()}
    found = []
    for manifest in sorted(folder.glob("*.jsonl")):
        for line in manifest.read_text().splitlines():
            row = json.loads(line)
            if "file" in row and (file := folder / row["file"]).exists():
                found.append(Order(file, written(row["text"]), names.get(row["menu"], ())))
    return found


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

    def __init__(self, tokenizer: Any, language: str = "en") -> None:
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
