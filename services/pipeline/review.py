"""What a human makes of an order: a reviewer by a decision, the customer by an answer or by confirming. The
same facts and the same prices apply to all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from schemas.cart import CartDraft, Finding
from schemas.compare import canonical_draft
from schemas.decision import ModelAnswer, Policy, Verdict
from schemas.errors import Conflict, InvalidCart
from schemas.lifecycle import Event, State
from schemas.menu import Menu
from schemas.question import CustomerAnswer, Question
from schemas.records.menus import MenuVersion
from schemas.records.orders import OrderRecord, Outcome
from schemas.review import ReviewDecision
from schemas.sentences.sentences import sentences
from schemas.transcript import Transcript
from services.validation.decide import decide
from services.validation.judge import judge_chosen
from services.validation.questions import NOTHING, WHOLE, answered, open_question
from services.validation.whole_cart import NO, YES, without_missing

# A human may overrule a limit; the rest would make a cart that can't be made or priced.
OVERRULED = frozenset({"quantity_over_limit", "item_unavailable", "option_unavailable"})


def settle(order: OrderRecord, decision: ReviewDecision, reviewer: str, menu: MenuVersion) -> Outcome:
    """The outcome of a reviewer's decision, with the cart priced from the order's menu version. One that is
    to be confirmed goes back to its customer, who has not said yes to any cart so far.

    Raises:
        InvalidCart: approved or corrected to something that the menu can't make or price.
    """
    detail = {"reviewer": reviewer, "action": decision.action, "reason": decision.reason}
    if decision.action == "reject":
        return Outcome(Event.REFUSED, detail=detail)
    draft = decision.cart if decision.action == "correct" else order.draft
    if draft is None:
        raise InvalidCart([("/cart", "there is no proposed cart to approve; send a corrected one")])
    if "notes" not in draft.model_fields_set and order.draft is not None:
        # A client that knows no notes must not lose an allergy by correcting a line.
        draft = draft.model_copy(update={"notes": order.draft.notes})
    event = Event.PROPOSED if order.confirm else Event.APPROVED
    return _priced(event, order, draft, menu, detail, overruled=OVERRULED)


def settle_by_answer(
    order: OrderRecord, answer: CustomerAnswer, menu: MenuVersion, policy: Policy
) -> Outcome:
    """The outcome of a customer's answer to the question that is asked now. The cart with a choice made is
    decided upon again, and may ask the next question; the answer that no cart is right leaves the order in
    review without one, and that nothing was ordered takes it back. What an answer made of an order that is to
    be confirmed is shown to its customer; a yes to a whole cart has confirmed it.

    Raises:
        Conflict: the order has no open question, or another one, or one of a kind that only a later release
            knows, which asked it.
        InvalidCart: not one of the question's answers, or a whole cart that can't be made.
    """
    question = open_question(order.findings, order.reasons) if order.state is State.IN_REVIEW else None
    if question is None or question.id != answer.question or order.draft is None:
        raise Conflict(
            "The order isn't asking this question",
            hint="Fetch the order again; a colleague may be working on it.",
        )
    chosen = _chosen(question, answer.answer)
    detail = {"question": question.id, "answer": answer.answer, "asked": question.text, "chosen": chosen}
    if not question.whole:
        try:
            draft = answered(order.draft, question, answer.answer)
        except ValueError as error:
            raise _unknown(question) from error
        return _after_choice(order, draft, menu, policy, detail)
    if question.id not in WHOLE or answer.answer not in (YES, NO):
        raise _unknown(question)
    if answer.answer == NO:
        declined = _declined(order.findings, question, menu.menu)
        return Outcome(Event.DECLINED, findings=tuple(declined), detail=detail)
    if question.id == NOTHING:
        return Outcome(Event.CANCELLED, findings=(), detail=detail)
    draft = without_missing(order.draft, order.findings, question)
    return _priced(Event.ANSWERED, order, draft, menu, detail)


def _after_choice(
    order: OrderRecord, draft: CartDraft, menu: MenuVersion, policy: Policy, detail: dict[str, Any]
) -> Outcome:
    """The cart with an open choice made, and whatever is open after it."""
    made = decide(draft, _heard(order), menu, order.answer or ModelAnswer(), policy)
    if made.decision.verdict is not Verdict.ACCEPTED:
        event, reasons = Event.CHOSEN, made.decision.reasons
    else:
        event, reasons = Event.PROPOSED if order.confirm else Event.ANSWERED, None
    return Outcome(event, draft=draft, cart=made.cart, findings=made.findings, reasons=reasons, detail=detail)


def _heard(order: OrderRecord) -> Transcript:
    return order.transcript or Transcript(text="", confidence=0.0)


def _chosen(question: Question, answer: str) -> str:
    """The words of the answer that was given."""
    texts = {choice.id: choice.text for choice in question.answers}
    if answer not in texts:
        raise InvalidCart([("/answer", f"must be one of {', '.join(texts)}")])
    return texts[answer]


def _unknown(question: Question) -> Conflict:
    """Nothing is guessed: what a later release means by an answer only that one knows."""
    return Conflict(
        f"This release doesn't know questions such as {question.id[:40]!r}",
        hint="A newer release asked it and is being rolled out. Try again soon, or let staff decide.",
    )


def _declined(findings: Sequence[Finding], question: Question, menu: Menu) -> Iterator[Finding]:
    """Remove the question, and show the reviewer what was asked."""
    for finding in findings:
        asked = finding.question is not None and finding.question.whole
        yield finding.model_copy(update={"question": None}) if asked else finding
    offered = "; or: ".join(choice.text for choice in question.answers if choice.id != NO)
    message = sentences(menu.language)("reading_declined")
    yield Finding.blocking(
        "reading_declined", message, detail=f"The customer said no. Asked: {question.text} Offered: {offered}"
    )


def confirm(order: OrderRecord, corrected: CartDraft | None, menu: MenuVersion) -> Outcome:
    """The outcome of a customer's look at the proposed cart: right as it is, or `corrected` by them.

    Raises:
        InvalidCart: corrected to something that the menu does not offer now. Only what a reviewer has
            overruled in the cart as proposed stays so.
    """
    draft = corrected or order.draft
    if draft is None or order.draft is None:
        raise InvalidCart([("/cart", "there is no proposed cart to confirm")])
    changed = canonical_draft(draft) != canonical_draft(order.draft)
    overruled = frozenset[str]() if changed else OVERRULED & {f.code for f in order.findings}
    return _priced(Event.CONFIRMED, order, draft, menu, {"corrected": changed}, overruled)


def _priced(
    event: Event,
    order: OrderRecord,
    draft: CartDraft,
    menu: MenuVersion,
    detail: dict[str, Any],
    overruled: frozenset[str] = frozenset(),
) -> Outcome:
    judged = judge_chosen(draft, menu, _heard(order))
    problems = [
        (f"/cart/lines/{f.line}" if f.line is not None else "/cart/lines", f.message)
        for f in judged.findings
        if f.severity == "blocking" and f.code not in overruled
    ]
    if problems:
        raise InvalidCart(problems)
    return Outcome(event, draft=draft, cart=judged.cart, findings=judged.findings, detail=detail)
