"""Which questions an order asks: a reviewer's; else those of its findings, in turn, while nothing else is in
doubt."""

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
"""Of a question about one field of one line, its id."""
STAFF_ASK, STAFF_ANSWERED = "staff_ask", "staff_answered"
"""Codes of the findings that keep what a reviewer asks, and what the customer answered."""
# What a yes to a whole cart settles. Not what the menu does not allow, and nothing past a limit.
OF_WORDS = frozenset({"reading_unsure", "nothing_ordered", "empty_cart"})
# Reasons for a review that an answer can remove.
_ASKABLE = frozenset({ReviewReason.BLOCKING_FINDING, ReviewReason.NOT_ON_MENU})


def open_questions(findings: Sequence[Finding], reasons: Sequence[ReviewReason]) -> list[Question]:
    """All that the customer is asked, in order: choices, then the whole cart that they make. Empty when
    anything is in doubt that no answer settles; what a reviewer asks is asked alone, whatever is in doubt."""
    for finding in findings:
        if finding.code == STAFF_ASK and finding.question is not None:
            return [finding.question]
    blocking = [finding for finding in findings if finding.blocks]
    asked = dict.fromkeys(finding.question for finding in blocking if finding.question is not None)
    settled = all(any(settled_by(question, finding) for question in asked) for finding in blocking)
    return sorted(asked, key=_turn) if settled and _ASKABLE.issuperset(reasons) else []


def open_question(findings: Sequence[Finding], reasons: Sequence[ReviewReason]) -> Question | None:
    """The question to ask now; None where only a person can settle the order."""
    return next(iter(open_questions(findings, reasons)), None)


def question_of(order: OrderRecord) -> Question | None:
    """What the order's customer is asked now."""
    return open_question(order.findings, order.reasons) if order.state is State.IN_REVIEW else None


def takes_more(order: OrderRecord) -> bool:
    """Whether the order's customer can say or type more: it isn't confirmed, it isn't a person's, and it has
    less than `MAX_UTTERANCES`, unless it is asked for once more."""
    question = question_of(order)
    if order.state is State.IN_REVIEW and question is None:
        return False
    once_more = question is not None and question.id == SAY_AGAIN
    return order.state in OPEN and (once_more or len(order.all_utterances) < MAX_UTTERANCES)


def _turn(question: Question) -> tuple[float, int]:
    """Line by line, the size first; the whole cart last."""
    place = PLACE.fullmatch(question.id)
    if place is None:
        return math.inf, 0
    return int(place["line"]), int(place["field"] is None)


def line_of(question: Question) -> int | None:
    """The cart line that a question is about; None of the whole order."""
    place = PLACE.fullmatch(question.id)
    return int(place["line"]) if place else None


def settled_by(question: Question | None, finding: Finding) -> bool:
    """Whether an answer to the order's question settles this finding too."""
    if question is None:
        return False
    return finding.question == question or (question.whole and finding.code in OF_WORDS)
