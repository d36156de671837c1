"""What goes into a masked call and comes out of it."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypedDict

Document = dict[str, Any]
Message = Mapping[str, str]
"""One turn of a chat: `role` and `content`."""


class How(TypedDict, total=False):
    """Options of one call.

    `temperature` 0, the default, takes the likeliest token that the mask allows; `seed` repeats a draw.
    `score` has the answer scored without the mask as well. Setting `called_off`, from any thread, ends the
    call: the connection is closed and the server stops. `timeout_s` replaces the engine's own.
    """

    temperature: float
    seed: int | None
    score: bool
    called_off: threading.Event | None
    timeout_s: float | None


class Sent(TypedDict, total=False):
    """Options of one request."""

    called_off: threading.Event | None
    timeout_s: float | None
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Token:
    """One token of an answer, with its log probability and its rank (1 is the likeliest) without the mask."""

    text: str
    logprob: float
    rank: int


@dataclass(frozen=True, slots=True)
class Completed:
    """A whole answer under a mask. `grammar` is the version of the mask, `seconds` wall time; of the prompt's
    tokens `cached_tokens` came from the server's cache. `tokens` are None where no scores were asked for, or
    the server can't tell them."""

    text: str
    engine: str
    grammar: str
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    seconds: float
    tokens: tuple[Token, ...] | None = None

    @property
    def overruled(self) -> int | None:
        """The number of tokens that were not the model's own first choice."""
        return None if self.tokens is None else sum(token.rank > 1 for token in self.tokens)
