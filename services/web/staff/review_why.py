"""The "Why?" panel of a review: what the words may mean, and how sure the model was of its cart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from schemas.decision import ModelAnswer
from schemas.explanation import MATCHES, VERDICTS, Explanation
from schemas.wording import percent
from services.validation.explained import explain
from services.web.staff.review_view import Case


@dataclass(frozen=True, slots=True)
class WordsView:
    """Words, what they may mean, and how that was found; `meaning` is empty for unexplained words."""

    words: str
    meaning: str = ""
    found_by: str = ""


@dataclass(frozen=True, slots=True)
class AnswerView:
    """The model's answer as it was written, how sure the model was of it, and its least sure pieces."""

    text: str
    sure: str
    unsure: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Why:
    """The whole panel; `answer` is None and `verdict` empty where there is none."""

    words: tuple[WordsView, ...]
    answer: AnswerView | None
    verdict: str


def why(shown: Case) -> Why:
    """Explain the order of a review: its words now, its answer and decision as they were stored."""
    order, menu = shown.order, shown.menu
    found = explain(shown.heard.text, menu.menu, menu.version, answer=order.answer, decision=order.decision)
    return Why(
        words=tuple(_words(found)),
        answer=_answer(found.answer) if found.answer is not None else None,
        verdict=VERDICTS[found.decision.verdict] if found.decision is not None else "",
    )


def _words(found: Explanation) -> Iterator[WordsView]:
    """In the order in which they were said."""
    views = [(m.start, WordsView(m.words, m.meaning, MATCHES[m.match])) for m in found.mentions]
    views += [(n.start, WordsView(n.words, str(n.value), "a number")) for n in found.numbers]
    views += [(u.start, WordsView(u.words)) for u in found.unexplained]
    for _, view in sorted(views, key=lambda view: view[0]):
        yield view


def _answer(answer: ModelAnswer) -> AnswerView:
    unsure = tuple(f"{piece.text} ({percent(piece.probability)})" for piece in answer.unsure)
    return AnswerView(answer.text, percent(answer.probability) if answer.probability else "", unsure)
