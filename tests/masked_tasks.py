"""Tiny tasks for tests of masked calls: a model with a validator that no mask can enforce, and a grammar."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field, model_validator

from services.clients.masked.saycart_masked import AnswerRejected, OutputType
from services.decoding.tasks import Task, Tasks


class Ticket(BaseModel):
    """How urgent a ticket is."""

    priority: Literal["low", "medium", "high"]
    needs_human: bool
    note: Annotated[str, Field(max_length=40)] = ""

    @model_validator(mode="after")
    def _high_needs_human(self) -> Ticket:
        if self.priority == "high" and not self.needs_human:
            raise ValueError(f"nobody looks at {self.note}")
        return self


def word(text: str) -> str:
    if text == "maybe":
        raise AnswerRejected([("/", "is not an answer")], quoted=text)
    return text


TICKET = Task(
    name="ticket",
    about="A ticket's priority, and whether a person must look at it",
    output=OutputType.of(Ticket),
    prompt="Sort the ticket.",
    examples=(("Thanks, all is well.", '{"priority":"low","needs_human":false}'),),
)
WORD = Task(
    name="word",
    about="Yes, no or maybe",
    output=OutputType.by_grammar('start: "yes" | "no" | "maybe"', 5, word),
    prompt="Answer.",
)
TASKS = Tasks((TICKET, WORD))
NOT_TASKS = {"ticket": Ticket}
