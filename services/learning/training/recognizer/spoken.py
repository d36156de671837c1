"""Pack spoken orders into one file, which training reads without an audio decoder.

    python -m services.learning.training.recognizer.spoken FOLDER OUT.npz     # in saycart's own environment

FOLDER is written by `tests/golden/speak/learned.py`: recordings and manifests (`*.jsonl`: `file`, `text`).
OUT has `samples` (16 bits, 16 kHz, concatenated), `ends` (the end of each recording) and `texts` (JSON).
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
    """A recording (16 bits, 16 kHz) and its text."""

    samples: npt.NDArray[np.int16]
    text: str


def pack(orders: Sequence[SpokenOrder], file: Path) -> None:
    """Write recordings and their texts to `file`."""
    np.savez(
        file,
        samples=np.concatenate([order.samples for order in orders]),
        ends=np.cumsum([len(order.samples) for order in orders]),
        texts=np.frombuffer(json.dumps([order.text for order in orders]).encode(), np.uint8),
    )


def orders(file: Path) -> list[SpokenOrder]:
    """Read a file of `pack`."""
    packed = dict(np.load(file))
    texts = json.loads(packed["texts"].tobytes())
    recordings = np.split(packed["samples"], packed["ends"][:-1])
    return [SpokenOrder(samples, as_sentence(text)) for samples, text in zip(recordings, texts, strict=True)]


def as_sentence(text: str) -> str:
    """Capitalize and punctuate a text, as a recognizer does."""
    text = " ".join(text.split())
    return text[:1].upper() + text[1:] + ("" if text[-1:] in ".?!" else ".")


class Targets:
    """The tokens that Whisper is trained to write, by the tokenizer of its `tokenizer.json`."""

    def __init__(self, tokenizer: Any, language: str) -> None:
        self._tokenizer = tokenizer
        token_id = tokenizer.token_to_id
        multilingual = token_id("<|startoftranscript|>") > 50257
        self.end: int = token_id("<|endoftext|>")
        task = [token_id(f"<|{language}|>"), token_id("<|transcribe|>")] if multilingual else []
        self.start: list[int] = [token_id("<|startoftranscript|>"), *task]
        self.first_time: int = token_id("<|notimestamps|>") + 1

    def text(self, text: str, span: tuple[float, float]) -> list[int]:
        """Return the text between its timestamps (in seconds), and the end token."""
        first, last = (self.first_time + min(1500, round(time / 0.02)) for time in span)
        tokens: list[int] = self._tokenizer.encode(" " + text.strip(), add_special_tokens=False).ids
        return [first, *tokens, last, self.end]


def recorded(folder: Path) -> Iterator[SpokenOrder]:
    """Decode the recordings that the manifests of `folder` list."""
    from services.transcription.audio.audio import DecodeLimits, decode  # not in the training environment
    from services.transcription.audio.containers import sniff_file

    for manifest in sorted(folder.glob("*.jsonl")):
        for row in map(json.loads, manifest.read_text(encoding="utf-8").splitlines()):
            if "file" in row:
                file = folder / row["file"]
                samples = decode(file, sniff_file(file), DecodeLimits())
                yield SpokenOrder((samples * 32767).round().astype(np.int16), row["text"])


if __name__ == "__main__":
    pack(list(recorded(Path(sys.argv[1]))), Path(sys.argv[2]))
