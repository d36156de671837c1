"""The questions that an order asks: a reviewer's, or those of its findings in turn, if they settle all."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from schemas.lifecycle import OPEN, State
from schemas.order import MAX_UTTERANCES
from schemas.priced_cart import Finding
from schemas.question import SAY_AGAIN, Question
from schemas.records.orders import OrderRecord
from schemas.review import ReviewReason

PLACE = re.compile(r"(?P<line>\d{1,4})/(?:(?P<field>size)|options/(?P<group>.+))", re.ASCII)
"""The id of a question about a field of a line."""
STAFF_ASK, STAFF_ANSWERED = "staff_ask", "staff_answered"
"""Codes of the findings that keep what a reviewer asks, and what the customer answered."""
# Findings settled by a yes to the whole cart: nothing that the menu forbids, nothing over a limit.
OF_WORDS = frozenset({"reading_unsure", "nothing_ordered", "empty_cart"})
# Reasons for a review that an answer can remove.
_ASKABLE = frozenset({ReviewReason.BLOCKING_FINDING, ReviewReason.NOT_ON_MENU})


def open_questions(findings: Sequence[Finding], reasons: Sequence[ReviewReason]) -> list[Question]:
    """Return all questions to the customer, in order: choices, then the whole cart. Empty if no answer can
    settle some doubt. A reviewer's question is asked alone, whatever is in doubt."""
    for finding in findings:
        if finding.code == STAFF_ASK and finding.question is not None:
            return [finding.question]
    blocking = [finding for finding in findings if finding.blocks]
    asked = dict.fromkeys(finding.question for finding in blocking if finding.question is not None)
    settled = all(any(settled_by(question, finding) for question in asked) for finding in blocking)
    return sorted(asked, key=_turn) if settled and _ASKABLE.issuperset(reasons) else []


def open_question(findings: Sequence[Finding], reasons: Sequence[ReviewReason]) -> Question | None:
    """Return the question to ask now; None if only a person can settle the order."""
    return next(iter(open_questions(findings, reasons)), None)


def question_of(order: OrderRecord) -> Question | None:
    """Return the question that the order's customer is asked now."""
    return open_question(order.findings, order.reasons) if order.state is State.IN_REVIEW else None


def takes_more(order: OrderRecord) -> bool:
    """Return True if the customer can add to the order: it is open, not with a reviewer, and has fewer than
    `MAX_UTTERANCES`, or asks for another."""
    question = question_of(order)
    if order.state is State.IN_REVIEW and question is None:
        return False
    once_more = question is not None and question.id == SAY_AGAIN
    return order.state in OPEN and (once_more or len(order.all_utterances) < MAX_UTTERANCES)


def _turn(question: Question) -> tuple[float, int]:
    """Return a sort key: line by line, the size first, the whole cart last."""
    place = PLACE.fullmatch(question.id)
    if place is None:
        return math.inf, 0
    return int(place["line"]), int(place["field"] is None)


def line_of(question: Question) -> int | None:
    """Return the cart line that a question is about; None for the whole order."""
    place = PLACE.fullmatch(question.id)
    return int(place["line"]) if place else None


def settled_by(question: Question | None, finding: Finding) -> bool:
    """Return True if an answer to the question settles the finding."""
    if question is None:
        return False
    return finding.question == question or (question.whole and finding.code in OF_WORDS)
