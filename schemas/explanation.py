"""What a menu's names explain of an order's words, and what the model and the checks made of them.

Made by `services/validation/explained.py`; shown by `saycart explain` and on the review page. It decides
nothing.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from schemas.decision import Decision, ModelAnswer, Verdict

MatchKind = Literal["whole", "partial", "misheard"]

MATCHES: dict[MatchKind, str] = {
    "whole": "the whole name",
    "partial": "part of the name",
    "misheard": "sounds like the name",
}

VERDICTS: dict[Verdict, str] = {
    Verdict.ACCEPTED: "accepted",
    Verdict.ASKS: "the customer is asked",
    Verdict.NEEDS_REVIEW: "a person reviews it",
}


class _Span(BaseModel):
    """Words of the transcript: characters `start` up to, but not including, `end`."""

    model_config = ConfigDict(frozen=True)

    words: str
    start: int
    end: int

    @property
    def meaning(self) -> str:
        """What they may mean, in words; empty where nothing explains them."""
        return ""

    @property
    def found_by(self) -> str:
        """How that was found, in words."""
        return ""


class MenuName(BaseModel):
    """Something on the menu: `id` is a sku, a size's id or an option's id, `group` the option's group."""

    model_config = ConfigDict(frozen=True)

    kind: Literal["item", "size", "option"]
    id: str
    name: str
    group: str | None = None


class MentionedNames(_Span):
    """Words, the names that they may mean, and how these were found."""

    match: MatchKind
    names: tuple[MenuName, ...]

    @property
    def meaning(self) -> str:
        """The names in words: "latte (item) or iced latte (item)"."""
        return " or ".join(dict.fromkeys(f"{one.name} ({one.kind})" for one in self.names))

    @property
    def found_by(self) -> str:
        return MATCHES[self.match]


class SpokenNumber(_Span):
    """Words that are a number."""

    value: int

    @property
    def meaning(self) -> str:
        return str(self.value)

    @property
    def found_by(self) -> str:
        return "a number"


class UnexplainedWord(_Span):
    """A word that is not on the menu, a number or a common word."""


class Explanation(BaseModel):
    """One transcript on one menu version; `answer` and `decision` are those of a stored order."""

    model_config = ConfigDict(frozen=True)

    menu: str
    menu_version: int
    text: str
    mentions: tuple[MentionedNames, ...] = Field(description="in the order in which they were said")
    numbers: tuple[SpokenNumber, ...]
    unexplained: tuple[UnexplainedWord, ...]
    answer: ModelAnswer | None = None
    decision: Decision | None = None

    @property
    def parts(self) -> list[MentionedNames | SpokenNumber | UnexplainedWord]:
        """Every part of the text, in its order."""
        return sorted([*self.mentions, *self.numbers, *self.unexplained], key=lambda part: part.start)
