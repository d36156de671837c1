"""`conjugate` as a tool: one schema for what a model asks of it and for what it says.

The model writes a `Call` under that schema's mask; what the tool returns has to be of the same schema before
anybody reads it. So neither side can say what the other has no place for: an argument that does not exist, or
a text that is no form of any of the verbs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, Field, RootModel, WithJsonSchema

from services.examples.conjugation.conjugate import words
from services.examples.conjugation.schema import FORMS, Form

SAYABLE = tuple(sorted({words(form.verb, form.tense, form.person) for form in FORMS}))


def _sayable(text: str) -> str:
    if text not in SAYABLE:
        raise ValueError("no form of any of the 20 verbs")
    return text


Returned = Annotated[str, AfterValidator(_sayable), WithJsonSchema({"enum": list(SAYABLE)})]


class Call(BaseModel, frozen=True):
    """What the model asks of the tool."""

    tool: Literal["conjugate"]
    arguments: Form = Field(description="The form that the sentence should have")


class NoCall(BaseModel, frozen=True):
    """The sentence has none of the verbs, so there is nothing to ask."""

    tool: None


class Step(RootModel[Call | NoCall], frozen=True):
    """The model's first step."""


class Returning(Call, frozen=True):
    """A whole use of the tool: its arguments, and what it returned."""

    returns: Returned


def use(call: Call, tool: Callable[..., str] = words) -> Returning:
    """Run the tool.

    Raises:
        pydantic.ValidationError: the tool returned what is none of its own texts; a fault of the tool.
    """
    return Returning(tool=call.tool, arguments=call.arguments, returns=tool(**call.arguments.model_dump()))
