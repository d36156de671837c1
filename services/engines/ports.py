"""What the pipeline needs of a recogniser and a decoder. Imports no engine."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from schemas.errors import RecordingLost
from schemas.menu import Menu
from schemas.transcript import Transcript

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class Recording:
    """One order's recording: the file, and what `decode` makes of it, once, however often it is heard."""

    def __init__(self, file: Path, decode: Callable[[Path], npt.NDArray[np.float32]]) -> None:
        self.file = file
        self._decode = decode

    @cached_property
    def samples(self) -> npt.NDArray[np.float32]:
        """Shape (n,), float32 in -1..1, mono, 16 kHz.

        Raises:
            AudioRefused: the recording itself; never worth a retry.
            RecordingLost: it is not there, or was removed while it was read.
            EngineUnavailable: the decoding child failed; worth another try.
        """
        try:
            return self._decode(self.file)
        except FileNotFoundError as error:
            raise RecordingLost("The recording of this order can't be found") from error


class Transcriber(Protocol):
    """Hears a recording."""

    def load(self) -> None:
        """Load the model now; otherwise the first call does."""
        ...

    def transcribe(self, recording: Recording, language: str) -> Transcript:
        """Words, times and one confidence; an empty text with confidence 0 when nothing was said.

        Raises:
            AudioRefused, RecordingLost: as `Recording.samples`.
            EngineUnavailable: the decoding child or the model failed; worth another try.
        """
        ...

    def transcribe_fitted(self, recording: Recording, language: str) -> Transcript | None:
        """As `transcribe`, in less time and a little less reliably: with a context as long as the recording.

        Its words count only where they leave no doubt. None where it was not measured how sure they are.

        Raises: as `transcribe`.
        """
        ...

    def transcribe_denoised(self, recording: Recording, language: str) -> Transcript | None:
        """As `transcribe`, of the recording with its noise turned down; None where there is hardly any, where
        the recording is long, or where it was not measured how sure its words are.

        Raises: as `transcribe`.
        """
        ...

    def quiet_words(self, recording: Recording, language: str) -> str:
        """Words that a voice says too quietly for the other hearings, which take them for silence; empty
        where there are none.

        Raises: as `transcribe`.
        """
        ...


@dataclass(frozen=True, slots=True)
class Scored:
    """What the model thinks of its cart when no mask holds it. Keys are JSON pointers into the wire text.

    `probability` is that of a field's whole value, given all before it; `overruled` counts the tokens of a
    field that were not the model's own first choice. A field without such a token is not in it.
    """

    probability: dict[str, float]
    overruled: dict[str, int]


Message = dict[str, str]
"""One turn of a chat: `role` and `content`."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How an answer is drawn. Temperature 0 takes the likeliest token that the mask allows; `seed` makes
    other draws come again, as far as a server's arithmetic does."""

    temperature: float = 0.0
    seed: int | None = None


GREEDY = Sampling()


@dataclass(frozen=True, slots=True)
class Completed:
    """A whole answer under a mask, and how it was made. `grammar` is the version of the mask, `seconds` wall
    time; of the prompt's tokens `cached_tokens` came from the server's prefix cache."""

    text: str
    engine: str
    grammar: str
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    seconds: float
    scored: Scored | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """The cart that a language model wrote, as lines of a draft without `heard`, and its text.

    `logprob` is the natural logarithm of the whole answer's probability, without the mask (0 is certain);
    `overruled` counts tokens that the mask chose against the model. Of the prompt's tokens `cached_tokens`
    came from the server's prefix cache; `seconds` is wall time. `pieces` are the numbers and names of `text`
    in their order, each with its probability after those before it, without the mask (0 to 1).
    """

    lines: tuple[dict[str, Any], ...]
    text: str
    logprob: float
    overruled: int
    engine: str
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    seconds: float
    pieces: tuple[tuple[str, float], ...] = ()
    notes: tuple[tuple[str, str], ...] = ()
    """(kind, words) of what the kitchen must know beyond the lines."""
    grammar: str = ""
    """The version of the mask."""
    trained: bool = True
    """Whether the model was trained for orders: how sure another is of a cart says little."""


@dataclass(frozen=True, slots=True)
class CartRequest:
    """What a decoder is asked: a customer's words over a menu, and what a second recognizer heard where that
    differs (`second`)."""

    transcript: str
    menu: Menu
    second: str = ""


class CartDecoder(Protocol):
    """Turns a transcript into a cart, under the mask of its menu."""

    def decode(
        self,
        asked: CartRequest,
        called_off: threading.Event | None = None,
        *,
        in_gaps: bool = False,
    ) -> Reading:
        """The cart that the model makes of the words, under the mask of the menu; nothing is streamed.

        Where no server has the trained adapter, the base model is asked. Setting `called_off`, from any
        thread, ends it: the request is closed and the server stops. With `in_gaps` a menu that is new is read
        in pieces, between which other orders come.

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
