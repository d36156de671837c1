"""Outcomes of human decisions: a reviewer's decision, a customer's answer or confirmation.

The same checks and prices apply to all of them.
"""

from __future__ import annotations

from typing import Any

from schemas.cart import CartDraft
from schemas.compare import canonical_draft
from schemas.decision import ModelAnswer, Policy
from schemas.errors import Conflict, InvalidCart
from schemas.lifecycle import Event
from schemas.menu import Menu, MenuVersion
from schemas.open_questions import question_of
from schemas.priced_cart import Finding
from schemas.question import BY_STAFF, CustomerAnswer, Question
from schemas.records.orders import OrderRecord, Outcome
from schemas.review import ReviewDecision
from schemas.sentences.sentences import sentences
from services.pipeline.ask_customer import answers_so_far, with_answer
from services.validation.decide import decide, judge_chosen
from services.validation.questions import NOTHING, WHOLE, answered
from services.validation.whole_cart import INSTEAD, NO, YES, with_instead, without_missing

# Limits that a human may overrule; without the other checks a cart couldn't be made or priced.
OVERRULED = frozenset({"quantity_over_limit", "item_unavailable", "item_outside_hours", "option_unavailable"})


def settle(order: OrderRecord, decision: ReviewDecision, reviewer: str, menu: MenuVersion) -> Outcome:
    """Return the outcome of a reviewer's decision, priced from the order's menu version. An order that needs
    confirmation goes back to its customer, who hasn't agreed to any cart so far.

    Raises:
        InvalidCart: the approved or corrected cart isn't possible on the menu.
    """
    detail = {"reviewer": reviewer, "action": decision.action, "reason": decision.reason}
    if decision.action == "reject":
        return Outcome(Event.REFUSED, detail=detail)
    draft = decision.cart if decision.action == "correct" else order.draft
    if draft is None:
        raise InvalidCart([("/cart", "there is no proposed cart to approve; send a corrected one")])
    draft = _with_notes(draft, order)
    event = Event.PROPOSED if order.needs_yes else Event.APPROVED
    return _priced(event, order, draft, menu, detail, overruled=OVERRULED)


def settle_by_answer(
    order: OrderRecord, answer: CustomerAnswer, menu: MenuVersion, policy: Policy
) -> Outcome:
    """Return the outcome of a customer's answer to the open question.

    After a choice the cart is decided again, and may ask the next question. "No" to the whole cart leaves the
    order in review without a question; "nothing was ordered" cancels it. An order that needs confirmation is
    shown to its customer after a choice; a "yes" to the whole cart confirms it. The answer to a reviewer's
    own question is kept for a reviewer.

    Raises:
        Conflict: the order has no open question, a different one, or one that a later release asked.
        InvalidCart: not one of the question's answers, or the whole cart isn't possible.
    """
    question, chosen = _chosen(order, answer)
    detail = {"question": question.id, "answer": answer.answer, "asked": question.text, "chosen": chosen}
    if question.id.startswith(BY_STAFF) or order.draft is None:
        findings = with_answer(order, question, chosen, menu.menu)
        return Outcome(Event.CHOSEN, findings=findings, detail=detail)
    if not question.whole:
        try:
            draft = answered(order.draft, question, answer.answer)
        except ValueError as error:
            raise _unknown(question) from error
        return _after_choice(order, draft, menu, policy, detail)
    if question.id == NOTHING and answer.answer.startswith(INSTEAD):
        draft = with_instead(order.draft, answer.answer, menu.menu)
        return _after_choice(order, draft, menu, policy, detail)
    if question.id not in WHOLE or answer.answer not in (YES, NO):
        raise _unknown(question)
    if answer.answer == NO:
        return Outcome(Event.DECLINED, findings=_declined(order, question, menu.menu), detail=detail)
    if question.id == NOTHING:
        return Outcome(Event.CANCELLED, findings=(), detail=detail)
    draft = without_missing(order.draft, order.findings, question)
    return _priced(Event.ANSWERED, order, draft, menu, detail)


def _after_choice(
    order: OrderRecord, draft: CartDraft, menu: MenuVersion, policy: Policy, detail: dict[str, Any]
) -> Outcome:
    """Decide the draft with the choice applied; another question may follow."""
    decided = decide(draft, order.known_transcript, menu, order.answer or ModelAnswer(), policy)
    reasons = decided.decision.reasons or None
    accepted = Event.PROPOSED if order.needs_yes else Event.ANSWERED
    event = Event.CHOSEN if reasons else accepted
    findings = (*answers_so_far(order), *decided.findings)
    return Outcome(event, draft=draft, cart=decided.cart, findings=findings, reasons=reasons, detail=detail)


def _chosen(order: OrderRecord, answer: CustomerAnswer) -> tuple[Question, str]:
    """Return the open question and the text of its chosen answer; raises as `settle_by_answer`."""
    question = question_of(order)
    if question is None or question.id != answer.question:
        what = "The order isn't asking this question"
        raise Conflict(what, title=what, hint="Fetch the order again; a colleague may be working on it.")
    texts = {choice.id: choice.text for choice in question.answers}
    if not texts:
        raise InvalidCart([("/answer", "must be the whole order, sent to `/utterances`")])
    if answer.answer not in texts:
        raise InvalidCart([("/answer", f"must be one of {', '.join(texts)}")])
    return question, texts[answer.answer]


def _unknown(question: Question) -> Conflict:
    """The error for a question of a later release, whose meaning this one can't guess."""
    return Conflict(
        f"This release doesn't know questions such as {question.id[:40]!r}",
        hint="A newer release asked it and is being rolled out. Try again soon, or let staff decide.",
        title="This question is of a newer release",
    )


def _declined(order: OrderRecord, question: Question, menu: Menu) -> tuple[Finding, ...]:
    """Return the findings without the question, and one that shows the reviewer what was asked."""
    unasked = {"question": None}
    rest = (f.model_copy(update=unasked) if f.question == question else f for f in order.findings)
    offered = "; or: ".join(choice.text for choice in question.answers if choice.id != NO)
    detail = f"The customer said no. Asked: {question.text} Offered: {offered}"
    message = sentences(menu.language)("reading_declined")
    return (*rest, Finding.blocking("reading_declined", message, detail=detail))


def confirm(order: OrderRecord, corrected: CartDraft | None, menu: MenuVersion) -> Outcome:
    """Return the outcome of a customer's confirmation of the proposed cart, or of their `corrected` one.

    Raises:
        InvalidCart: the menu doesn't offer the corrected cart. A reviewer's overrules hold only for the cart
            as proposed.
    """
    draft = corrected or order.draft
    if draft is None or order.draft is None:
        raise InvalidCart([("/cart", "there is no proposed cart to confirm")])
    draft = _with_notes(draft, order)
    changed = canonical_draft(draft) != canonical_draft(order.draft)
    overruled = frozenset[str]() if changed else OVERRULED & {f.code for f in order.findings}
    return _priced(Event.CONFIRMED, order, draft, menu, {"corrected": changed}, overruled)


def _with_notes(draft: CartDraft, order: OrderRecord) -> CartDraft:
    """Return `draft` with the order's notes unless it was sent with notes: a client that knows none must not
    lose an allergy by correcting a line."""
    if "notes" in draft.model_fields_set or order.draft is None:
        return draft
    return draft.model_copy(update={"notes": order.draft.notes})


def _priced(
    event: Event,
    order: OrderRecord,
    draft: CartDraft,
    menu: MenuVersion,
    detail: dict[str, Any],
    overruled: frozenset[str] = frozenset(),
) -> Outcome:
    cart, findings = judge_chosen(draft, menu, order.known_transcript)
    problems = [
        (f"/cart/lines/{f.line}" if f.line is not None else "/cart/lines", f.message)
        for f in findings
        if f.severity == "blocking" and f.code not in overruled
    ]
    if problems:
        raise InvalidCart(problems)
    return Outcome(event, draft=draft, cart=cart, findings=findings, detail=detail)
