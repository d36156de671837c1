"""The vocabulary as a list of byte strings, which is all that a mask needs to know of a tokenizer.

A token is a piece of bytes and not of text: "é" may come as two tokens of one byte each, and one token may be
`","` and so end one JSON string, and begin another.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from llguidance import LLTokenizer

from services.engines.masks.vocabulary import read_vocabulary


@dataclass(frozen=True)
class Tokens:
    """`pieces[id]` is the bytes of a token, empty for a control token, which stands for no text. `end` is the
    control token that ends an answer."""

    pieces: tuple[bytes, ...]
    end: int
    tokenizer: LLTokenizer | None = None
    """The model's own, to cut text as the model would; None for a vocabulary made up in a test."""

    @cached_property
    def in_order(self) -> tuple[tuple[int, bytes, int], ...]:
        """(id, piece, bytes shared with the piece before), sorted by bytes: a prefix tree, written flat."""
        sorted_ids = sorted((i for i, piece in enumerate(self.pieces) if piece), key=self.pieces.__getitem__)
        rows, last = [], b""
        for token in sorted_ids:
            piece = self.pieces[token]
            rows.append((token, piece, _shared(last, piece)))
            last = piece
        return tuple(rows)

    def cut(self, text: str) -> list[int]:
        """`text` in the model's own tokens."""
        assert self.tokenizer is not None
        return list(self.tokenizer.tokenize_str(text))

    def text(self, ids: list[int]) -> str:
        """The bytes of `ids` joined and only then read as UTF-8: one token alone may be half a character."""
        return b"".join(self.pieces[token] for token in ids).decode(errors="replace")


def _shared(a: bytes, b: bytes) -> int:
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def read_tokens(model: Path) -> Tokens:
    """The vocabulary of a GGUF file, SmolLM2's 49,152 tokens in half a second.

    Raises:
        EngineMisconfigured: no such file, or a tokenizer of a kind that is not known here.
    """
    vocabulary = read_vocabulary(model)
    tokenizer = vocabulary.tokenizer()
    pieces = tuple(
        b"" if tokenizer.is_special_token(token) else tokenizer.decode_bytes([token])
        for token in range(vocabulary.size)
    )
    return Tokens(pieces, vocabulary.end, tokenizer)
