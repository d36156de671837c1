"""The closed universe: 20 verbs in 5 tenses and 3 persons are 300 forms, and a text that says "none of them".

A closed choice makes a model choose, of a sentence that has none of the 20 verbs too; `NoForm` is its way
out. It stands in the verb's own place, so that it is decided where the verb is, and not before.
"""

from __future__ import annotations

from typing import Literal, get_args

from pydantic import BaseModel, Field, RootModel

Verb = Literal[
    "break", "bring", "buy", "dance", "drink", "eat", "give", "go", "have", "play",
    "put", "read", "see", "stop", "study", "take", "teach", "walk", "watch", "write",
]  # fmt: skip
Tense = Literal["present", "past", "future", "present perfect", "past perfect"]
Person = Literal["first", "second", "third"]

VERBS: tuple[Verb, ...] = get_args(Verb)
TENSES: tuple[Tense, ...] = get_args(Tense)
PERSONS: tuple[Person, ...] = get_args(Person)


class Form(BaseModel, frozen=True):
    """One of the 300."""

    verb: Verb = Field(description="The main verb, as a dictionary has it")
    tense: Tense
    person: Person = Field(description="first: I, we; second: you; third: all else")


class NoForm(BaseModel, frozen=True):
    """None of the 300: another verb, or another tense."""

    verb: None


class Found(RootModel[Form | NoForm], frozen=True):
    """What a sentence has."""

    @property
    def form(self) -> Form | None:
        """None where the sentence has none of the 300."""
        return self.root if isinstance(self.root, Form) else None


FORMS = tuple(
    Form(verb=verb, tense=tense, person=person) for verb in VERBS for tense in TENSES for person in PERSONS
)
