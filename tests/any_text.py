"""Texts that a mask allows, drawn at random, and whether a model's own tokens can spell a text."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
from llguidance import LLMatcher, LLTokenizer

from infra.settings import settings
from infra.weights.models import resolve
from services.clients.masked.saycart_masked import BYTES, Mask
from services.decoding.server.llama import library
from services.decoding.server.vocabulary import ModelVocabulary


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


@cache
def tokenizer_of(model: str) -> LLTokenizer:
    """The tokenizer of a model of the lock. Raises ModelError where its weights are not here."""
    file = Path(resolve(model, settings().models_dir))
    params = library().llama_model_default_params()
    params.vocab_only = True
    # Never freed: llguidance goes on to call its tokenizer.
    return ModelVocabulary(library().llama_model_load_from_file(str(file).encode(), params)).tokenizer()


def takes(tokens: LLTokenizer, mask: Mask, text: str) -> bool:
    """Whether `text` can be written and ended, token by token, each in the mask when its turn comes."""
    matcher = LLMatcher(tokens, mask.lark)
    for token in tokens.tokenize_str(text):
        if not (matcher.compute_ff_bytes() or _bits(matcher)[token]) or not matcher.consume_token(token):
            return False
    return bool(matcher.is_accepting())


def _open(matcher: LLMatcher) -> np.ndarray:
    return _bits(matcher)[:256]


def _bits(matcher: LLMatcher) -> np.ndarray:
    return np.unpackbits(np.frombuffer(matcher.compute_bitmask(), np.uint8), bitorder="little")
