"""The interface of cart decoders. Imports no engine."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Protocol

from schemas.cart import Line, NoteDraft
from schemas.decision import UnsurePiece
from schemas.menu import Menu
from schemas.order import DecodedBy


@dataclass(frozen=True, slots=True)
class DecodedCart:
    """A language model's answer: the text, and the draft's lines and notes, the lines still without `heard`.

    `logprob` is the log probability of the whole answer without the mask (0 is certain), and `overruled` the
    number of tokens where the mask rejected the model's first choice. `pieces` are the numbers and names in
    `text`, in order, each with its probability (0..1) given the text before it, without the mask.
    """

    lines: tuple[Line, ...]
    text: str
    logprob: float
    overruled: int
    by: DecodedBy = field(default_factory=DecodedBy)
    pieces: tuple[UnsurePiece, ...] = ()
    notes: tuple[NoteDraft, ...] = ()
    trained: bool = True
    """True if the model was fine-tuned for orders; the probabilities of any other say little."""


@dataclass(frozen=True, slots=True)
class CartRequest:
    """A transcript to decode with a menu; `second` is another recognizer's transcript, where it differs.

    With `chunked_prefill` a menu that is not cached yet is read in chunks, with other orders in between."""

    transcript: str
    menu: Menu
    second: str = ""
    chunked_prefill: bool = False


class CartDecoder(Protocol):
    """Decodes transcripts into carts."""

    def decode(self, request: CartRequest, called_off: threading.Event | None = None) -> DecodedCart:
        """Return the model's cart under the menu's mask. Without the adapter the base model is used.

        Setting `called_off`, from any thread, closes the request, and the server stops.

        Raises:
            DecodeCancelled: `called_off` was set.
            EngineUnavailable: refused, timed out or 5xx.
            DecodeTruncated: the server stopped before the cart was complete.
            DecodeInvalid: the answer violates the mask, so the server did not apply it.
            MenuBeingRead: one chunk of the menu was read, and more are left.
            TooMuchToRead: the transcript exceeds an order's token budget.
        """
        ...

    def warm(self, menu: Menu, called_off: threading.Event | None = None) -> None:
        """Load the menu's part of the prompt, the same for all its orders, into the server's prefix cache.

        Raises: as `decode`, of the server and of `called_off`.
        """
        ...
