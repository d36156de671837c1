"""Texts that a mask allows, drawn at random."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
from llguidance import LLMatcher

from services.decoding.mask import BYTES, Mask


def any_text(mask: Mask, rng: random.Random) -> bytes:
    """A whole text that the mask allows, its bytes chosen at random."""
    return next(any_texts(mask, rng))


def any_texts(mask: Mask, rng: random.Random, on: float = 0.0) -> Iterator[bytes]:
    """Such texts without end, of a grammar compiled once. Where a text may end and may go on as well, it goes
    on with probability `on`."""
    matcher = LLMatcher(BYTES, mask.lark)
    while True:
        text = bytearray()
        while not matcher.is_accepting() or (on and rng.random() < on):
            if not (ways := np.nonzero(_open(matcher))[0].tolist()):
                break
            byte = rng.choice(ways)
            matcher.consume_token(byte)
            text.append(byte)
        yield bytes(text)
        matcher.reset()


def _open(matcher: LLMatcher) -> np.ndarray:
    return np.unpackbits(np.frombuffer(matcher.compute_bitmask(), np.uint8), bitorder="little")[:256]
