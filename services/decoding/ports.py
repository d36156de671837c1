"""What the pipeline needs of a decoder. Imports no engine."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Protocol

from schemas.cart import Line, NoteDraft
from schemas.decision import UnsurePiece
from schemas.menu import Menu

Message = dict[str, str]
"""One turn of a chat: `role` and `content`."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The cart that a language model wrote, as lines of a draft without `heard`, and its text.

    `logprob` is the natural logarithm of the whole answer's probability, without the mask (0 is certain);
    `overruled` counts tokens that the mask chose against the model. Of the prompt's tokens `cached_tokens`
    came from the server's prefix cache; `seconds` is wall time. `pieces` are the numbers and names of `text`
    in their order, each with its probability after those before it, without the mask (0 to 1).
    """

    lines: tuple[Line, ...]
    text: str
    logprob: float
    overruled: int
    engine: str
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    seconds: float
    pieces: tuple[UnsurePiece, ...] = ()
    notes: tuple[NoteDraft, ...] = ()
    grammar: str = ""
    """The version of the mask."""
    trained: bool = True
    """Whether the model was trained for orders: how sure another is of a cart says little."""


@dataclass(frozen=True, slots=True)
class CartRequest:
    """A customer's words over a menu, and those of a second recognizer where they differ (`second`). With
    `in_gaps` a menu that is new is read in pieces, between which other orders come."""

    transcript: str
    menu: Menu
    second: str = ""
    in_gaps: bool = False


class CartDecoder(Protocol):
    """Turns a transcript into a cart, under the mask of its menu."""

    def decode(self, asked: CartRequest, called_off: threading.Event | None = None) -> Reading:
        """The cart that the model makes of the words, under the mask of the menu; nothing is streamed.

        Where the server lacks the trained adapter, the base model is asked. Setting `called_off`, from any
        thread, ends it: the request is closed and the server stops.

        Raises:
            DecodeCancelled: it was called off.
            EngineUnavailable: refused, timed out or 5xx.
            DecodeTruncated: the server stopped before the cart was whole; the text is not parsed.
            DecodeInvalid: the text is outside the mask, so the server did not apply it.
            MenuBeingRead: a piece was read, and it was not the last.
            TooMuchToRead: the words take more tokens than an order may.
        """
        ...

    def warm(self, menu: Menu, called_off: threading.Event | None = None) -> None:
        """Put the part of the prompt that is the same for every order into the server's cache.

        Raises: as `decode`, of the server and of `called_off`.
        """
        ...
