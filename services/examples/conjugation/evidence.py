"""The same 300 forms, told by what the sentence shows: first its subject and its helper, then what follows.

Grammar settles most of a form: after "did" it is past, and of "we" it is first person. So the model is asked
for what can be seen, and the mask lets through only the tense and the person that go with it. Where no helper
stands, present or past is the model's to say; where one stands that makes none of the five tenses ("is",
"can"), there is no form.
"""

from __future__ import annotations

from functools import reduce
from itertools import product
from operator import or_
from typing import Any, Literal

from pydantic import Field, RootModel, create_model

from services.examples.conjugation.schema import Form, Found, NoForm, Person, Tense, Verb
from services.masked.output import OutputType

PERSON_OF: dict[Person, tuple[str, ...]] = {"first": ("I", "we"), "second": ("you",), "third": ("other",)}
TENSE_OF: dict[tuple[str, ...], tuple[Tense, ...]] = {
    ("none",): ("present", "past"),
    ("do", "does"): ("present",),
    ("did",): ("past",),
    ("will",): ("future",),
    ("have", "has"): ("present perfect",),
    ("had",): ("past perfect",),
}
SUBJECTS = tuple(subject for subjects in PERSON_OF.values() for subject in subjects)
HELPERS = (*(helper for helpers in TENSE_OF for helper in helpers), "other")


def one_of(values: tuple[str, ...]) -> Any:
    """A Literal of values that no type checker sees."""
    return Literal[values]


def any_of(models: list[Any]) -> Any:
    """Their union, likewise."""
    union: Any = reduce(or_, models)
    return RootModel[union]


def variants() -> list[Any]:
    """A model for each person and group of helpers."""
    return [
        create_model(
            f"Form{number}",
            subject=(one_of(subjects), Field(description="Who does it")),
            helper=(one_of(helpers), Field(description="The verb before the main verb")),
            verb=(Verb, ...),
            tense=(one_of(tenses), ...),
            person=(one_of((person,)), ...),
        )
        for number, ((person, subjects), (helpers, tenses)) in enumerate(
            product(PERSON_OF.items(), TENSE_OF.items())
        )
    ]


Nothing = create_model(
    "Nothing", subject=(one_of(SUBJECTS), ...), helper=(one_of(HELPERS), ...), verb=(None, ...)
)


def evident() -> OutputType[Found]:
    """Any of the 300, or none, after what shows it; read as `Found`, so what came before is only the way."""
    output = OutputType.of(any_of([*variants(), Nothing]))
    return OutputType("Evident", output.mask, lambda text: form_of(output.read(text)), output.schema)


def form_of(value: Any) -> Found:
    """What one of the variants says, without what showed it."""
    said = value.root
    if said.verb is None:
        return Found(NoForm(verb=None))
    return Found(Form(verb=said.verb, tense=said.tense, person=said.person))
