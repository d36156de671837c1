"""What a menu's names explain of an order's words, and what the model and the checks made of them.

Made by `services/validation/explained.py`; shown by `saycart explain` and on the review page. It decides
nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from schemas.decision import Decision, ModelAnswer, Verdict

MatchKind = Literal["whole", "partial", "misheard"]

MATCHES: Mapping[str, str] = {
    "whole": "the whole name",
    "partial": "part of the name",
    "misheard": "sounds like the name",
}

VERDICTS: Mapping[Verdict, str] = {
    Verdict.ACCEPTED: "accepted",
    Verdict.ASKS: "the customer is asked",
    Verdict.NEEDS_REVIEW: "a person reviews it",
}


class ExplainedWords(BaseModel):
    """Words of the transcript: characters `start` up to, but not including, `end`.

    `meaning` is what they may mean, in words ("latte (item) or iced latte (item)"), and `found_by` how that
    was found; both are empty where nothing explains them.
    """

    model_config = ConfigDict(frozen=True)

    words: str
    start: int
    end: int
    meaning: str = ""
    found_by: str = ""


class NamedPart(BaseModel):
    """Something on the menu: `id` is a sku, a size's id or an option's id, `group` the option's group."""

    model_config = ConfigDict(frozen=True)

    kind: Literal["item", "size", "option"]
    id: str
    name: str
    group: str | None = None


class MentionedNames(ExplainedWords):
    """Words, and the names that they may mean."""

    match: MatchKind
    names: tuple[NamedPart, ...]


class SpokenNumber(ExplainedWords):
    """Words that are a number."""

    value: int


class Explanation(BaseModel):
    """One transcript on one menu version; `answer` and `decision` are those of a stored order."""

    model_config = ConfigDict(frozen=True)

    menu: str
    menu_version: int
    text: str
    mentions: tuple[MentionedNames, ...] = Field(description="in the order in which they were said")
    numbers: tuple[SpokenNumber, ...]
    unexplained: tuple[ExplainedWords, ...] = Field(
        description="words that are not on the menu, a number or a common word"
    )
    answer: ModelAnswer | None = None
    decision: Decision | None = None

    @property
    def parts(self) -> list[ExplainedWords]:
        """Every part of the text, in its order."""
        return sorted([*self.mentions, *self.numbers, *self.unexplained], key=lambda part: part.start)
