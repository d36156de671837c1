"""The question whether a whole cart is right, for its customer, who knows what they said.

Asked where the language model is fairly sure of a cart and not quite. An empty cart is put as the question
whether nothing was ordered. A yes settles it, a no is a person's.
"""

from __future__ import annotations

from collections.abc import Sequence

from schemas import wording
from schemas.cart import CartDraft, Finding
from schemas.decision import ModelAnswer, Policy
from schemas.menu import Menu
from schemas.question import Choice, Question
from schemas.sentences.sentences import sentences
from schemas.transcript import Transcript
from services.retrieval.words import MEASURED
from services.validation.facts import check_facts
from services.validation.price import price_cart
from services.validation.questions import NOTHING, RIGHT

YES, NO = "yes", "no"


def with_question(
    answer: ModelAnswer, draft: CartDraft, findings: Sequence[Finding], menu: Menu, policy: Policy
) -> tuple[Finding, ...]:
    """`findings` with the model's own doubt about its cart, and the question that would settle what is left
    in doubt, if one would."""
    # How far the model may be believed in another language nobody knows.
    probability = answer.probability if menu.language in MEASURED else 0.0
    if probability < policy.accept_from:
        question = _right(draft, menu, policy) if probability >= policy.ask_from else None
        message = sentences(menu.language)("reading_unsure")
        doubt = Finding.blocking("reading_unsure", message, question=question, detail=_detail(answer))
        return (*findings, doubt)
    if not draft.lines:
        question = _nothing(menu)
        doubt = Finding.blocking("nothing_ordered", question.text, question=question, detail=_detail(answer))
        return (*findings, doubt)
    return tuple(findings)


def _detail(answer: ModelAnswer) -> str:
    """What a reviewer is told of the model's doubt."""
    told = f"The language model is {wording.percent(answer.probability)} sure of its cart."
    if answer.unsure:
        unsure = (f"“{piece.text}” ({wording.percent(piece.probability)})" for piece in answer.unsure)
        told += f" Least sure of: {', '.join(unsure)}."
    return told


def _right(draft: CartDraft, menu: Menu, policy: Policy) -> Question | None:
    """Whether the cart is right, with its total; None where it is not a customer's to say yes to: the menu
    does not allow it as it is, or it is too dear."""
    if any(found.blocks for found in check_facts(draft, menu)):
        return None
    # The menu's version and the words are what the cart shows, and no part of its price.
    total = price_cart(draft, menu, 0, Transcript(text="", confidence=0.0), []).total
    if total > policy.max_total_asked:
        return None
    say = sentences(menu.language)
    order, price = wording.drafted(draft, menu, menu.language), wording.money(total, menu.currency)
    text = say("order_right", order=say("order_with_total", order=order, total=price))
    return Question(
        id=RIGHT, text=text, answers=(Choice(id=YES, text=say("yes")), Choice(id=NO, text=say("no")))
    )


def _nothing(menu: Menu) -> Question:
    say = sentences(menu.language)
    answers = Choice(id=YES, text=say("nothing_wanted")), Choice(id=NO, text=say("something_wanted"))
    return Question(id=NOTHING, text=say("nothing_right"), answers=answers)
