"""`conjugate` as a tool: one schema for what a model asks of it and for what it says.

The model writes a `Call` under that schema's mask; what the tool returns has to be of the same schema before
anybody reads it. So neither side can say what the other has no place for: an argument that does not exist, or
a text that is no form of any of the verbs.

Before the arguments the model says what they rest on, as in `evidence.py`: subject, helper, and what the
sentence says of time; and the mask lets through no other person or tense than goes with these.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, Field, WithJsonSchema, create_model

from services.examples.conjugation.conjugate import words
from services.examples.conjugation.evidence import PERSON_OF, TENSE_OF, any_of, one_of
from services.examples.conjugation.schema import FORMS, Form, Tense, Verb
from services.masked.output import OutputType

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


class Returning(Call, frozen=True):
    """A whole use of the tool: its arguments, and what it returned."""

    returns: Returned


def use(call: Call, tool: Callable[..., str] = words) -> Returning:
    """Run the tool.

    Raises:
        pydantic.ValidationError: the tool returned what is none of its own texts; a fault of the tool.
    """
    return Returning(tool=call.tool, arguments=call.arguments, returns=tool(**call.arguments.model_dump()))


# What a word of time settles where no helper does.
TENSE_AT: dict[str, tuple[Tense, ...]] = {
    "past": ("past",),
    "future": ("future",),
    "usual": ("present",),
    "unsaid": ("present", "past"),
}


def calls() -> OutputType[Call | None]:
    """A call by way of its evidence; None where the sentence has none of the verbs."""
    held = [
        (helpers, tuple(TENSE_AT), tenses) for helpers, tenses in TENSE_OF.items() if helpers != ("none",)
    ]
    held += [(("none",), (time,), tenses) for time, tenses in TENSE_AT.items()]
    shapes: list[Any] = [create_model("NoCall", tool=(None, ...))]
    for (person, subjects), (helpers, times, tenses) in product(PERSON_OF.items(), held):
        number = len(shapes)
        arguments: Any = create_model(
            f"Arguments{number}",
            verb=(Verb, ...),
            tense=(one_of(tenses), ...),
            person=(one_of((person,)), ...),
        )
        shapes.append(
            create_model(
                f"Call{number}",
                tool=(one_of(("conjugate",)), ...),
                subject=(one_of(subjects), ...),
                helper=(one_of(helpers), ...),
                time=(one_of(times), ...),
                arguments=(arguments, ...),
            )
        )
    output = OutputType.of(any_of(shapes))

    def read(text: str) -> Call | None:
        said = output.read(text).root
        if said.tool is None:
            return None
        return Call(tool=said.tool, arguments=Form(**said.arguments.model_dump()))

    return OutputType("Call", output.mask, read, output.schema)


CALLS = calls()
