"""Explain an order: what retrieval finds in its words, what the model made of them, and what the decision
rests on.

Shown by `saycart explain` and on the review page; it decides nothing.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from schemas import wording
from schemas.decision import Decision, ModelAnswer, Verdict
from schemas.menu import Menu
from services.retrieval.names import Kind, names_of
from services.retrieval.retrieval import Match, retrieve
from services.validation.whole_cart import how_sure

_FOUND_BY = {
    Match.WHOLE: "the whole name",
    Match.PARTIAL: "part of the name",
    Match.MISHEARD: "sounds like the name",
}


_VERDICTS = {
    Verdict.ACCEPTED: "accepted",
    Verdict.ASKS: "the customer is asked",
    Verdict.NEEDS_REVIEW: "a person reviews it",
}


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True)


class ExplainedWords(_Value):
    """Words of the transcript: characters `start` up to, but not including, `end`.

    `meaning` is what they may mean, in words ("latte (item) or iced latte (item)"), and `found_by` how that
    was found; both are empty where nothing explains them.
    """

    words: str
    start: int
    end: int
    meaning: str = ""
    found_by: str = ""


class NamedPart(_Value):
    """Something on the menu: `id` is a sku, a size's id or an option's id, `group` the option's group."""

    kind: Kind
    id: str
    name: str
    group: str | None = None


class MentionedNames(ExplainedWords):
    """Words, and the names that they may mean."""

    match: Match
    names: tuple[NamedPart, ...]


class SpokenNumber(ExplainedWords):
    """Words that are a number."""

    value: int


class Explanation(_Value):
    """One transcript on one menu version; `answer` and `decision` are those of a stored order."""

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
    def model(self) -> str:
        """How sure the model is, as a sentence for staff."""
        return how_sure(self.answer) if self.answer else "No model answered."

    @property
    def why(self) -> list[tuple[str, str]]:
        """The decision and what it rests on, as labels and texts for staff; empty where there is none."""
        if (made := self.decision) is None:
            return []
        found = [
            ("decision", _VERDICTS[made.verdict]),
            *(("doubt", f"{d.code}: {d.message}") for d in made.doubts),
        ]
        basis, percent = made.basis, wording.percent
        found.append(("reasons", ", ".join(made.reasons)))
        found.append(("transcript", f"{percent(basis.transcript_confidence)} sure"))
        found.append(("second transcript", basis.second_transcript))
        if basis.cart_probability is not None:
            found.append(("cart", f"{percent(basis.cart_probability)} sure, {basis.cart_trust}"))
        found.append(("unused words", ", ".join(basis.unused)))
        return [(label, text) for label, text in found if text]

    @property
    def parts(self) -> list[ExplainedWords]:
        """Every part of the text, in its order."""
        return sorted([*self.mentions, *self.numbers, *self.unexplained], key=lambda part: part.start)


def explain(
    text: str,
    menu: Menu,
    version: int,
    *,
    answer: ModelAnswer | None = None,
    decision: Decision | None = None,
) -> Explanation:
    """Look `text` up in the menu; `answer` and `decision` are added as they are."""

    def at(start: int, end: int) -> dict[str, Any]:
        return {"words": text[start:end], "start": start, "end": end}

    found = retrieve(text, names_of(menu))
    mentions = [
        MentionedNames(
            **at(one.start, one.end),
            meaning=" or ".join(dict.fromkeys(f"{name.text} ({name.kind})" for name in one.names)),
            found_by=_FOUND_BY[one.match],
            match=one.match,
            names=tuple(NamedPart(kind=n.kind, id=n.id, name=n.text, group=n.group) for n in one.names),
        )
        for one in found.mentions
    ]
    numbers = [
        SpokenNumber(**at(one.start, one.end), meaning=str(one.value), found_by="a number", value=one.value)
        for one in found.numbers
    ]
    return Explanation(
        menu=menu.id,
        menu_version=version,
        text=text,
        mentions=tuple(mentions),
        numbers=tuple(numbers),
        unexplained=tuple(ExplainedWords(**at(*span)) for span in found.unexplained),
        answer=answer,
        decision=decision,
    )
