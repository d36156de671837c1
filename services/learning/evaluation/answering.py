"""What becomes of predicted orders once their questions are answered, by a simulated customer.

The customer knows the cart that is meant and is honest: gives the answer that leads to it, or says that none
does ("neither"). How often people nod at a cart that is not theirs is not known, so the worst is counted too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from schemas.cart import CartDraft, Finding
from schemas.compare import LineKey, canonical, canonical_draft
from schemas.question import Question
from schemas.review import ReviewReason
from services.validation.questions import NOTHING, REST, RIGHT, answered, line_of, open_questions

Cart = Counter[LineKey]

# In the order in which they are printed.
COUNTED = (
    "exact",
    "exact after the answers",
    "to a human",
    "of them for what only a human can do",
    "of them needless",
    "asked one question",
    "of them settled by the answer",
    "of them is this right",
    "of them is the rest right",
    "of them was nothing ordered",
    "of them without a right answer",
    "wrong, unseen",
    "wrong, unseen, if nobody ever said that none is right",
)
ONLY_HUMAN = frozenset({"not_on_menu", "empty_cart", "allergy_said"})
KINDS = {
    RIGHT: ("of them is this right",),
    REST: ("of them is the rest right",),
    NOTHING: ("of them was nothing ordered",),
}


def became(made: dict[str, Any], meant: Cart) -> list[str]:
    """What to count of one prediction row (its decision, cart, findings and question), with an honest answer
    to that question.

    "exact" is the proposal, asked or not. "what only a human can do" is an order for something off the menu,
    with an allergy, or for nothing, that was read rightly. "wrong, unseen" are a wrong cart that was
    accepted, and one that an answer about one field has settled while another was wrong.
    """
    exact = canonical(made["cart"]["lines"]) == meant
    question = Question.model_validate(asked) if (asked := made.get("question")) else None
    final = _answered(made, question, meant) if question is not None else None
    counted = ["exact"] * exact
    if question is not None:
        counted += ["asked one question", *KINDS.get(question.id, ())]
        counted.append("of them without a right answer" if final is None else "of them settled by the answer")
    nodded = ["wrong, unseen, if nobody ever said that none is right"]
    if made["decision"] != "review" or final is not None:
        right = exact if final is None else final == meant
        return [*counted, *(["exact after the answers"] if right else ["wrong, unseen", *nodded])]
    codes = {found["code"] for found in made["findings"] if found["severity"] == "blocking"}
    counted += ["to a human", *["exact after the answers"] * exact, *nodded * (question is not None)]
    if exact:
        counted.append("of them for what only a human can do" if codes & ONLY_HUMAN else "of them needless")
    return counted


def _answered(made: dict[str, Any], question: Question, meant: Cart) -> Cart | None:
    """The cart after the answer of a customer who wants `meant`; None where they say that none is right."""
    draft = CartDraft.model_validate(made["cart"])
    if canonical_draft(draft) == meant:
        # Where no size was said, the cart that is meant has none either, and any answer will do.
        return meant
    findings = [Finding.model_validate(found) for found in made["findings"]]
    asked = open_questions(findings, (ReviewReason.BLOCKING_FINDING,)) or [question]
    final = canonical_draft(_chosen(draft, [one for one in asked if not one.whole], meant))
    # Whoever is shown the whole cart at the end says no to a wrong one.
    return None if asked[-1].whole and final != meant else final


def _chosen(draft: CartDraft, asked: Sequence[Question], meant: Cart) -> CartDraft:
    """The draft with every open choice made, line by line, as its customer means the line."""
    for _, of_line in groupby(asked, key=line_of):
        drafts = [draft]
        for question in of_line:
            drafts = [answered(one, question, choice.id) for one in drafts for choice in question.answers]
        draft = max(drafts, key=lambda one: (canonical_draft(one) & meant).total())
    return draft
