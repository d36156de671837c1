"""One masked call for any Pydantic model: `masked(Ticket, messages, engine=engine)` is a `Ticket`.

Form is the mask's to guarantee, meaning is not: what the model's own validators say of a well-formed answer
is `AnswerRefused`, an error of its own. Nothing is repaired and nothing is asked twice; for another answer
ask again, with a seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar, Unpack

from pydantic import BaseModel

from infra.observability import measures
from services.decoding.completion import How
from services.decoding.mask import Mask
from services.decoding.masked.output import OutputType, output_type
from services.decoding.ports import Completed, Message
from services.decoding.unmasked import probabilities, values

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)


class MaskedEngine(Protocol):
    """A decode server, or several: `services/decoding/servers.py` and `decoder.py` are such."""

    def complete(self, chat: Sequence[Message], mask: Mask, **how: Unpack[How]) -> Completed:
        """See `Completions.complete`."""
        ...


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """A value, and how it was made."""

    value: T
    completed: Completed

    @property
    def probability(self) -> dict[str, float] | None:
        """How likely the model held each field's value when no mask held it, given all before it, by JSON
        pointer; of a grammar that is no JSON, the whole text under the empty pointer. None where it was not
        asked for (`score`), or the server can't tell."""
        text, tokens = self.completed.text, self.completed.tokens
        if tokens is None:
            return None
        return probabilities(text, tokens, values(text) if text[:1] in ("{", "[") else {(0, len(text)): ""})


def answer(
    output: OutputType[T], messages: Sequence[Message], *, engine: MaskedEngine, **how: Unpack[How]
) -> Answer[T]:
    """A whole answer of this type, or an error; nothing is streamed, nothing of half an answer is seen.

    Raises:
        AnswerRefused: well-formed, and the model's own validators refuse it: a failure of meaning.
        DecodeTruncated: the server's limits ended it before it was whole: a failure of form.
        DecodeInvalid: the server did not apply the mask: a failure of form.
        DecodeCancelled: `called_off` was set.
        EngineUnavailable: refused, timed out or 5xx; worth another try.
        EngineMisconfigured: the server refuses such requests.
    """
    with measures.engine_took("masked"):
        completed = engine.complete(messages, output.mask, **how)
        return Answer(output.read(completed.text), completed)


def masked(model: type[M], messages: Sequence[Message], *, engine: MaskedEngine, **how: Unpack[How]) -> M:
    """The model's answer as a `model`; see `answer`, and `OutputType.of` for which models can be masked.

    Raises:
        UnmaskableSchema: a field that no mask can hold; nothing was asked.
        as `answer`.
    """
    output: OutputType[M] = output_type(model)
    return answer(output, messages, engine=engine, **how).value
