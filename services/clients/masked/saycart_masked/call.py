"""One masked call: `masked(Ticket, "The checkout is down.", engine=engine).value` is a `Ticket`.

The mask guarantees the form, not the meaning: if the model's own validators reject the answer,
`AnswerRejected` is raised. There are no repairs or retries; for another answer call again, with a temperature
and a seed.
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

    `temperature` 0, the default, chooses the likeliest token that the mask allows; `seed` makes sampling
    repeatable. `score` also scores the answer without the mask. Set `called_off`, from any thread, to cancel:
    the connection is closed and the server stops. `timeout_s` overrides the engine's.
    """

    temperature: float
    seed: int | None
    score: bool
    called_off: threading.Event | None
    timeout_s: float | None


@dataclass(frozen=True, slots=True)
class Completed:
    """A whole answer under a mask. `grammar` is the version of the mask, `seconds` wall time; `cached_tokens`
    of the prompt came from the server's cache. `tokens` is None without `score`, or if the server has no
    scores."""

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
        """The number of tokens that were not the model's first choice."""
        return None if self.tokens is None else sum(token.rank > 1 for token in self.tokens)


class MaskedEngine(Protocol):
    """Completes chats under masks: an `Engine`, or several behind one name."""

    def complete(self, chat: Sequence[Message], mask: Mask, **how: Unpack[How]) -> Completed:
        """See `Engine.complete`."""
        ...


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """A value, and the completion that it was read from."""

    value: T
    completed: Completed

    @property
    def probability(self) -> dict[str, float] | None:
        """The probability of each field's value without the mask, given all text before it, by JSON pointer;
        for a grammar other than JSON that of the whole text, under the empty pointer. None without scores."""
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
    """Return a complete, validated answer of this Pydantic model or output type.

    Raises:
        UnmaskableModel: the model has a field that no mask can bound; no request was sent.
        AnswerRejected: well-formed, but the model's own validators reject it.
        MaskedCallError: see `Engine.complete`.
    """
    output_type: OutputType[T] = OutputType.of(cast(Any, output)) if isinstance(output, type) else output
    chat = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
    completed = engine.complete(chat, output_type.mask, **how)
    return Answer(output_type.read(completed.text), completed)
