"""llguidance behind the interface of `masks`, for the same patterns and schemas: what the naive masks are
held against, and what a product uses."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from llguidance import LLMatcher
from llguidance.numpy import allocate_token_bitmask, fill_next_token_bitmask

from schemas.errors import DecodeInvalid, InputError
from services.examples.by_hand.steps import Allowed
from services.examples.by_hand.tokens import Tokens

# The naive machine writes JSON without spaces, and so has llguidance to.
_COMPACT = {"whitespace_flexible": False, "item_separator": ",", "key_separator": ":"}


def pattern_grammar(pattern: str, *, forcing: bool = True) -> str:
    """A Lark grammar for a pattern. Without `forcing` every way to cut a forced text into tokens is open."""
    return _head(forcing) + "start: /" + pattern.replace("/", "\\/") + "/\n"


def schema_grammar(schema: Mapping[str, Any], *, forcing: bool = True) -> str:
    """A Lark grammar for a JSON Schema; `forcing` as above."""
    return _head(forcing) + "start: %json " + json.dumps({"x-guidance": _COMPACT, **schema}) + "\n"


def _head(forcing: bool) -> str:
    return "%llguidance " + json.dumps({} if forcing else {"no_forcing": True}) + "\n"


class LibraryMask:
    """A LogitMask. Raises InputError for a grammar that llguidance refuses."""

    def __init__(self, grammar: str, tokens: Tokens) -> None:
        assert tokens.tokenizer is not None
        self._tokens = tokens
        self._matcher = LLMatcher(tokens.tokenizer, grammar)
        self._bits = allocate_token_bitmask(1, len(tokens.pieces))
        self._ended = False
        if self._matcher.is_error():
            raise InputError(f"llguidance refuses the grammar: {self._matcher.get_error():.200}")

    def allowed(self) -> Allowed:
        if self._ended:
            return np.zeros(len(self._tokens.pieces), dtype=bool)
        self.fill()
        bits = np.unpackbits(self._bits.view(np.uint8), bitorder="little")
        return bits[: len(self._tokens.pieces)].astype(bool)

    def fill(self) -> None:
        """The mask as llguidance writes it: one bit a token, ready for a kernel on a GPU."""
        fill_next_token_bitmask(self._matcher, self._bits, 0)

    def advance(self, token: int) -> None:
        if token == self._tokens.end and self.may_end():
            self._ended = True
        elif not self._matcher.consume_token(token):
            raise DecodeInvalid(
                f"Token {token} is not allowed here", hint="Take only tokens that `allowed` shows."
            )

    def may_end(self) -> bool:
        return bool(self._matcher.is_accepting())

    def forced(self) -> bytes:
        """What has to come next, whoever draws: empty where there is a choice."""
        return bytes(self._matcher.compute_ff_bytes())
