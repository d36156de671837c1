"""Explain an order for `saycart explain` and the review page: retrieval's matches, the model's answer and the
decision's basis. Nothing here decides anything.
"""

from __future__ import annotations

from pydantic import BaseModel, Field

from schemas import wording
from schemas.decision import Decision, ModelAnswer, Verdict
from schemas.menu import Menu
from services.retrieval.names import names_of
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


class ExplainedWords(BaseModel):
    """Words of the transcript: characters `start` up to, but not including, `end`.

    `meaning` is what they may mean, in words ("latte (item) or iced latte (item)"), and `found_by` how that
    was found; both are empty where nothing explains them.
    """

    words: str
    start: int
    end: int
    meaning: str = ""
    found_by: str = ""


class Explanation(BaseModel):
    """One transcript on one menu version; `answer` and `decision` are those of a stored order."""

    menu: str
    menu_version: int
    text: str
    parts: tuple[ExplainedWords, ...] = Field(description="in the order in which they were said")
    answer: ModelAnswer | None = None
    decision: Decision | None = None

    @property
    def model(self) -> str:
        """How sure the model is, as a sentence for staff."""
        return how_sure(self.answer) if self.answer else "No model answered."

    @property
    def why(self) -> list[tuple[str, str]]:
        """The decision and its basis as (label, text) for staff; empty without a decision."""
        if (decision := self.decision) is None:
            return []
        rows = [
            ("decision", _VERDICTS[decision.verdict]),
            *(("doubt", f"{d.code}: {d.message}") for d in decision.doubts),
            ("reasons", ", ".join(decision.reasons)),
            ("transcript", f"{wording.percent(decision.basis.transcript_confidence)} sure"),
            ("second transcript", decision.basis.second_transcript),
            ("unused words", ", ".join(decision.basis.unused)),
        ]
        return [(label, text) for label, text in rows if text]


def explain(
    text: str,
    menu: Menu,
    version: int,
    *,
    answer: ModelAnswer | None = None,
    decision: Decision | None = None,
) -> Explanation:
    """Return what retrieval finds in `text`, with the stored `answer` and `decision`."""
    retrieval = retrieve(text, names_of(menu))
    rows = [(*span, "", "") for span in retrieval.unexplained]
    rows += [(one.start, one.end, str(one.value), "a number") for one in retrieval.numbers]
    for one in retrieval.mentions:
        meanings = dict.fromkeys(f"{name.text} ({name.kind})" for name in one.names)
        rows.append((one.start, one.end, " or ".join(meanings), _FOUND_BY[one.match]))
    parts = (
        ExplainedWords(words=text[start:end], start=start, end=end, meaning=meaning, found_by=found_by)
        for start, end, meaning, found_by in sorted(rows)
    )
    return Explanation(
        menu=menu.id,
        menu_version=version,
        text=text,
        parts=tuple(parts),
        answer=answer,
        decision=decision,
    )
