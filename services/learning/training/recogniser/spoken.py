"""Spoken orders to learn from, packed into one file that training reads without any decoder of audio.

    python -m services.learning.training.recogniser.spoken FOLDER OUT.npz     # in saycart's own environment

FOLDER is what `tests/golden/speak/learned.py` leaves: recordings and manifests (`*.jsonl`: `file`, `text`).
OUT has `samples` (16 bits, 16 kHz, one recording after the other), `ends` (where each ends), and `texts`,
JSON with the words of each.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class SpokenOrder:
    """A spoken order: its recording (16 bits, 16 kHz) and the words."""

    samples: npt.NDArray[np.int16]
    text: str


def pack(orders: Sequence[SpokenOrder], file: Path) -> None:
    """Write recordings and their words to `file`."""
    np.savez(
        file,
        samples=np.concatenate([order.samples for order in orders]),
        ends=np.cumsum([len(order.samples) for order in orders]),
        texts=np.frombuffer(json.dumps([order.text for order in orders]).encode(), np.uint8),
    )


def orders(file: Path) -> list[SpokenOrder]:
    """What `pack` wrote."""
    packed = dict(np.load(file))
    texts = json.loads(packed["texts"].tobytes())
    sounds = np.split(packed["samples"], packed["ends"][:-1])
    return [SpokenOrder(samples, written(text)) for samples, text in zip(sounds, texts, strict=True)]


def written(text: str) -> str:
    """An order as a recogniser writes a sentence: a capital first, and an end."""
    text = " ".join(text.split())
    return text[:1].upper() + text[1:] + ("" if text[-1:] in ".?!" else ".")


class Writer:
    """Tokens of what Whisper is to write. `tokenizer`: that of `tokenizer.json`."""

    def __init__(self, tokenizer: Any, language: str) -> None:
        self._tokenizer = tokenizer
        number = tokenizer.token_to_id
        several = number("<|startoftranscript|>") > 50257
        self.end: int = number("<|endoftext|>")
        spoken = [number(f"<|{language}|>"), number("<|transcribe|>")] if several else []
        self.start: list[int] = [number("<|startoftranscript|>"), *spoken]
        self.first_time: int = number("<|notimestamps|>") + 1

    def text(self, words: str, span: tuple[float, float]) -> list[int]:
        """The text between its times (s), and the end."""
        first, last = (self.first_time + min(1500, round(time / 0.02)) for time in span)
        tokens: list[int] = self._tokenizer.encode(" " + words.strip(), add_special_tokens=False).ids
        return [first, *tokens, last, self.end]


def recorded(folder: Path) -> Iterator[SpokenOrder]:
    """The recordings that the manifests of `folder` list."""
    from services.transcription.audio.audio import DecodeLimits, decode  # not where training runs
    from services.transcription.audio.containers import sniff_file

    for manifest in sorted(folder.glob("*.jsonl")):
        for row in map(json.loads, manifest.read_text(encoding="utf-8").splitlines()):
            if "file" in row:
                file = folder / row["file"]
                samples = decode(file, sniff_file(file), DecodeLimits())
                yield SpokenOrder((samples * 32767).round().astype(np.int16), row["text"])


if __name__ == "__main__":
    pack(list(recorded(Path(sys.argv[1]))), Path(sys.argv[2]))
