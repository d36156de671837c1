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


def outcomes(made: dict[str, Any], meant: Cart) -> list[str]:
    """Return what to count of one prediction row, with an honest answer to its question.

    "exact" is the proposal, asked or not. A correctly read order for something off the menu, with an allergy,
    or for nothing is never "needless" to a human. "wrong, unseen" is a wrong cart that was accepted, or
    settled by an answer about one field while another was wrong."""
    exact = canonical(made["cart"]["lines"]) == meant
    question = Question.model_validate(asked) if (asked := made.get("question")) else None
    final = _answered(made, question, meant) if question is not None else None
    counted = ["exact"] * exact + ["asked one question"] * (question is not None)
    nodded = ["wrong, unseen, if nobody ever said that none is right"]
    if made["decision"] != "review" or final is not None:
        right = exact if final is None else final == meant
        return [*counted, *(["exact after the answers"] if right else ["wrong, unseen", *nodded])]
    counted += ["to a human", *["exact after the answers"] * exact, *nodded * (question is not None)]
    blocking = {found["code"] for found in made["findings"] if found["severity"] == "blocking"}
    return counted + ["of them needless"] * (exact and not blocking & ONLY_HUMAN)


def _answered(made: dict[str, Any], question: Question, meant: Cart) -> Cart | None:
    """Return the cart after the answer of a customer who wants `meant`; None if no answer is right."""
    draft = CartDraft.model_validate(made["cart"])
    if canonical_draft(draft) == meant:
        # Without a size in the utterance the intended cart has none either, and any answer will do.
        return meant
    findings = [Finding.model_validate(found) for found in made["findings"]]
    asked = open_questions(findings, (ReviewReason.BLOCKING_FINDING,)) or [question]
    final = canonical_draft(_chosen(draft, [one for one in asked if not one.whole], meant))
    # A customer who is shown the whole cart rejects a wrong one.
    return None if asked[-1].whole and final != meant else final


def _chosen(draft: CartDraft, asked: Sequence[Question], meant: Cart) -> CartDraft:
    """Return the draft with every open choice made, line by line, as the customer intends."""
    for _, of_line in groupby(asked, key=line_of):
        drafts = [draft]
        for question in of_line:
            drafts = [answered(one, question, choice.id) for one in drafts for choice in question.answers]
        draft = max(drafts, key=lambda one: (canonical_draft(one) & meant).total())
    return draft
