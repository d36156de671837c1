"""One masked call: `masked(Ticket, "The checkout is down.", engine=engine).value` is a `Ticket`.

The mask guarantees form, not meaning: what the model's own validators reject is `AnswerRejected`. Nothing is
repaired and nothing is asked twice; for another answer ask again, with a temperature and a seed.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypedDict, TypeVar, Unpack, cast

from .output import Mask, OutputType
from .scores import Token, probabilities, values

T = TypeVar("T")
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


class MaskedEngine(Protocol):
    """What completes a chat under a mask: an `Engine`, or several behind one name."""

    def complete(self, chat: Sequence[Message], mask: Mask, **how: Unpack[How]) -> Completed:
        """See `Engine.complete`."""
        ...


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """A value, and how it came about."""

    value: T
    completed: Completed

    @property
    def probability(self) -> dict[str, float] | None:
        """How likely the model held each field's value without the mask, given all before it, by JSON
        pointer; for a grammar that is not JSON, of the whole text under the empty pointer. None without
        `score`, or where the server can't tell."""
        text, tokens = self.completed.text, self.completed.tokens
        if tokens is None:
            return None
        return probabilities(text, tokens, values(text) if text[:1] in ("{", "[") else {(0, len(text)): ""})


def masked(
    output: type[T] | OutputType[T],
    prompt: str | Sequence[Message],
    *,
    engine: MaskedEngine,
    **how: Unpack[How],
) -> Answer[T]:
    """Return a whole answer of this Pydantic model or output type, or raise; nothing is streamed.

    Raises:
        UnmaskableModel: the model has a field that no mask can hold; nothing was asked.
        AnswerRejected: well-formed, but the model's own validators reject it.
        as `Engine.complete`.
    """
    known: OutputType[T] = OutputType.of(cast(Any, output)) if isinstance(output, type) else output
    chat = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
    completed = engine.complete(chat, known.mask, **how)
    return Answer(known.read(completed.text), completed)
