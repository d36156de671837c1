"""Outcomes of predicted orders after a simulated customer has answered their questions.

The customer knows the intended cart and is honest: they give the answer that leads to it, or say that none
does. How often people accept a wrong cart is unknown, so the worst case is counted too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from schemas.cart import CartDraft
from schemas.compare import LineKey, canonical, canonical_draft
from schemas.open_questions import line_of, open_questions
from schemas.priced_cart import Finding
from schemas.question import Question
from schemas.review import ReviewReason
from services.validation.questions import answered

Cart = Counter[LineKey]

# In the order in which they are printed.
COUNTED = (
    "exact",
    "exact after the answers",
    "to a human",
    "of them needless",
    "asked one question",
    "wrong, unseen",
    "wrong, unseen, if nobody ever said that none is right",
)
ONLY_HUMAN = frozenset({"not_on_menu", "empty_cart", "allergy_said"})


def outcomes(predicted: dict[str, Any], expected: Cart) -> list[str]:
    """Return the labels to count for one prediction row, after an honest answer to its question.

    "exact" is the proposed cart, asked or not. A correctly read order for something off the menu, with an
    allergy, or for nothing is never "needless" to a human. "wrong, unseen" is a wrong cart that was accepted,
    or settled by an answer about one field while another was wrong."""
    exact = canonical(predicted["cart"]["lines"]) == expected
    document = predicted.get("question")
    question = Question.model_validate(document) if document else None
    final = _answered(predicted, question, expected) if question is not None else None
    labels = ["exact"] * exact + ["asked one question"] * (question is not None)
    worst_case = ["wrong, unseen, if nobody ever said that none is right"]
    if predicted["decision"] != "review" or final is not None:
        right = exact if final is None else final == expected
        return [*labels, *(["exact after the answers"] if right else ["wrong, unseen", *worst_case])]
    labels += ["to a human", *["exact after the answers"] * exact, *worst_case * (question is not None)]
    blocking = {finding["code"] for finding in predicted["findings"] if finding["severity"] == "blocking"}
    return labels + ["of them needless"] * (exact and not blocking & ONLY_HUMAN)


def _answered(predicted: dict[str, Any], question: Question, expected: Cart) -> Cart | None:
    """Return the cart after the answer of a customer who wants `expected`; None if no answer is right."""
    draft = CartDraft.model_validate(predicted["cart"])
    if canonical_draft(draft) == expected:
        # Without a size in the utterance the intended cart has none either, and any answer will do.
        return expected
    findings = [Finding.model_validate(finding) for finding in predicted["findings"]]
    questions = open_questions(findings, (ReviewReason.BLOCKING_FINDING,)) or [question]
    final = canonical_draft(_choose(draft, [one for one in questions if not one.whole], expected))
    # A customer who is shown the whole cart rejects a wrong one.
    return None if questions[-1].whole and final != expected else final


def _choose(draft: CartDraft, questions: Sequence[Question], expected: Cart) -> CartDraft:
    """Return the draft with every open choice made, line by line, as the customer intends."""
    for _, of_line in groupby(questions, key=line_of):
        drafts = [draft]
        for question in of_line:
            drafts = [answered(one, question, choice.id) for one in drafts for choice in question.answers]
        draft = max(drafts, key=lambda one: (canonical_draft(one) & expected).total())
    return draft
