"""Name a sentence's verb form, one of 300, after the evidence for it.

Grammar settles most of a form: after "did" it is past, of "we" it is first person. So the model names subject
and helper first, and the mask then allows only the tense and the person that go with them.
"""

from __future__ import annotations

from functools import reduce
from itertools import product
from operator import or_
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, RootModel, create_model

from services.decoding.masked.output import OutputType
from services.decoding.masked.task import Task
from services.examples.runner import Example

PROMPT = """\
You find the verb form of an English sentence. Answer with JSON alone, in this order.

subject: who does it. "I", "we" or "you" if it is this word; "other" for he, she, it, they, and every name or
thing.

helper: the verb before the main verb. "do", "does", "did", "will" (also 'll, won't), "have" (also 've),
"has", "had" (also 'd), also with "not" ("didn't" is "did"). "none" if no helper stands there. "other" for all
other helpers: is, are, was, can, would, should.

verb: the main verb as a dictionary has it, one of: break, bring, buy, dance, drink, eat, give, go, have,
play, put, read, see, stop, study, take, teach, walk, watch, write. If the main verb is none of these, or the
helper is "other": null, and nothing after it.

tense: "past" after "did", "present" after "do" and "does", "future" after "will", "present perfect" after
"have" and "has", "past perfect" after "had". Without a helper: "present" (writes) or "past" (wrote).

person: "first" for I and we, "second" for you, "third" for other."""

Verb = Literal[
    "break", "bring", "buy", "dance", "drink", "eat", "give", "go", "have", "play",
    "put", "read", "see", "stop", "study", "take", "teach", "walk", "watch", "write",
]  # fmt: skip
Tense = Literal["present", "past", "future", "present perfect", "past perfect"]
Person = Literal["first", "second", "third"]

PERSON_OF = {("I", "we"): "first", ("you",): "second", ("other",): "third"}
TENSES_OF = {
    ("none",): ("present", "past"),
    ("do", "does"): ("present",),
    ("did",): ("past",),
    ("will",): ("future",),
    ("have", "has"): ("present perfect",),
    ("had",): ("past perfect",),
}
SUBJECTS = tuple(subject for subjects in PERSON_OF for subject in subjects)
HELPERS = (*(helper for helpers in TENSES_OF for helper in helpers), "other")


class Form(BaseModel, frozen=True):
    """One of 20 verbs in one of 5 tenses and 3 persons."""

    verb: Verb
    tense: Tense
    person: Person


def one_of(values: tuple[str, ...]) -> Any:
    """Return a `Literal` of values that are known at run time only."""
    return Literal[values]


def evidence() -> Any:
    """Return the union of one model for each person and group of helpers, and one for "none of the 300"."""
    models = [
        create_model(
            f"Form{number}",
            subject=(one_of(subjects), ...),
            helper=(one_of(helpers), ...),
            verb=(Verb, ...),
            tense=(one_of(tenses), ...),
            person=(one_of((person,)), ...),
        )
        for number, ((subjects, person), (helpers, tenses)) in enumerate(
            product(PERSON_OF.items(), TENSES_OF.items())
        )
    ]
    neither = create_model(
        "NoForm", subject=(one_of(SUBJECTS), ...), helper=(one_of(HELPERS), ...), verb=(None, ...)
    )
    union: Any = reduce(or_, [*models, neither])
    return RootModel[union]


def _output() -> OutputType[Form | None]:
    """Hold answers by `evidence`, and read them as the form alone."""
    output = OutputType.of(evidence())

    def read(text: str) -> Form | None:
        said = output.read(text).root
        if said.verb is None:
            return None
        return Form(verb=said.verb, tense=said.tense, person=said.person)

    return OutputType("Evidence", output.mask, read, output.schema)


TASK: Task[Form | None] = Task(
    name="conjugation",
    about="The verb form of an English sentence: one of 20 verbs, 5 tenses, 3 persons, or none",
    output=_output(),
    prompt=PROMPT,
    examples=(
        ("Nobody opened the window.", '{"subject":"other","helper":"none","verb":null}'),
        ("She was eating a pear.", '{"subject":"other","helper":"other","verb":null}'),
        (
            "Did your uncle dance with her?",
            '{"subject":"other","helper":"did","verb":"dance","tense":"past","person":"third"}',
        ),
        (
            "We have never walked so far.",
            '{"subject":"we","helper":"have","verb":"walk","tense":"present perfect","person":"first"}',
        ),
        (
            "You won't see anything from here.",
            '{"subject":"you","helper":"will","verb":"see","tense":"future","person":"second"}',
        ),
        (
            "The dogs drink rain water.",
            '{"subject":"other","helper":"none","verb":"drink","tense":"present","person":"third"}',
        ),
        (
            "I had stopped the clock.",
            '{"subject":"I","helper":"had","verb":"stop","tense":"past perfect","person":"first"}',
        ),
        (
            "You wrote the wrong name.",
            '{"subject":"you","helper":"none","verb":"write","tense":"past","person":"second"}',
        ),
    ),
)


def exact(form: Form | None, gold: dict[str, str] | None) -> bool:
    """Compare verb, tense and person, or that there is no form."""
    return (form.model_dump() if form else None) == gold


EXAMPLE = Example(TASK, Path(__file__).with_suffix(".jsonl"), exact)
