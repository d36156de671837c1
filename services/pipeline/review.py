"""What a human makes of an order: a reviewer by a decision, the customer by an answer or by confirming. The
same facts and the same prices apply to all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from schemas.cart import CartDraft, Finding
from schemas.compare import canonical_draft
from schemas.errors import Conflict, InvalidCart
from schemas.lifecycle import Event, State
from schemas.menu import Menu
from schemas.question import CustomerAnswer, Question
from schemas.review import ReviewDecision
from schemas.sentences.sentences import sentences
from schemas.transcript import Transcript
from services.checks.judge import judge_chosen
from services.checks.questions import answered, open_question
from services.checks.two_carts import DECLINED, NOTHING, OTHER, PROPOSED, WHOLE
from services.storage.base.records import MenuVersion, OrderRecord, Outcome

# A human may overrule a limit; the rest would make a cart that can't be made or priced.
OVERRULED = frozenset({"quantity_over_limit", "item_unavailable", "option_unavailable"})


def settle(order: OrderRecord, decision: ReviewDecision, reviewer: str, menu: MenuVersion) -> Outcome:
    """The outcome of a reviewer's decision, with the final cart priced from the order's menu version.

    Raises:
        InvalidCart: approved or corrected to something that the menu can't make or price.
    """
    detail = {"reviewer": reviewer, "action": decision.action, "reason": decision.reason}
    if decision.action == "reject":
        return Outcome(Event.REFUSED, detail=detail)
    draft = decision.cart if decision.action == "correct" else order.draft
    if draft is None:
        raise InvalidCart([("/cart", "there is no proposed cart to approve; send a corrected one")])
    return _priced(Event.APPROVED, order, draft, menu, detail, overruled=OVERRULED)


def settle_by_answer(order: OrderRecord, answer: CustomerAnswer, menu: MenuVersion) -> Outcome:
    """The outcome of a customer's answer to the order's one open question. An answer that no cart is right
    leaves the order in review, without a question; one that nothing was ordered takes it back.

    Raises:
        Conflict: the order has no open question, or another one, or one of a kind that only a later release
            knows, which asked it.
        InvalidCart: not one of the question's answers, or no cart can be made with it.
    """
    question = open_question(order.findings, order.reasons) if order.state is State.IN_REVIEW else None
    if question is None or question.id != answer.question or order.draft is None:
        raise Conflict("The order does not ask this", hint="Read the order again; a colleague may be on it.")
    chosen = _chosen(question, answer.answer)
    detail = {"question": question.id, "answer": answer.answer, "asked": question.text, "chosen": chosen}
    if not question.whole:
        try:
            draft = answered(order.draft, question, answer.answer)
        except ValueError as error:
            raise _unknown(question) from error
        return _priced(Event.ANSWERED, order, draft, menu, detail)
    if question.id not in WHOLE or answer.answer not in PROPOSED | OTHER | DECLINED:
        raise _unknown(question)
    if answer.answer in DECLINED:
        declined = _declined(order.findings, question, menu.menu)
        return Outcome(Event.DECLINED, findings=tuple(declined), detail=detail)
    if question.id == NOTHING:
        return Outcome(Event.CANCELLED, findings=(), detail=detail)
    draft = order.draft
    if answer.answer in OTHER:
        if order.readings is None or order.readings.other is None:
            raise _unknown(question)
        draft = order.readings.other
    return _priced(Event.ANSWERED, order, draft, menu, detail)


def _chosen(question: Question, answer: str) -> str:
    """The words of the answer that was given."""
    texts = {choice.id: choice.text for choice in question.answers}
    if answer not in texts:
        raise InvalidCart([("/answer", f"must be one of {', '.join(texts)}")])
    return texts[answer]


def _unknown(question: Question) -> Conflict:
    """Nothing is guessed: what a later release means by an answer only that one knows."""
    return Conflict(
        f"This release does not know questions such as {question.id[:40]!r}",
        hint="A later release asked it, and is being installed: try again soon, or let staff settle it.",
    )


def _declined(findings: Sequence[Finding], question: Question, menu: Menu) -> Iterator[Finding]:
    """Nothing is asked any more, and the reviewer sees what was."""
    for finding in findings:
        asked = finding.question is not None and finding.question.whole
        yield finding.model_copy(update={"question": None}) if asked else finding
    offered = "; or: ".join(choice.text for choice in question.answers if choice.id not in DECLINED)
    message = sentences(menu.language)("reading_declined")
    yield Finding.blocking(
        "reading_declined", message, detail=f"The customer said no. Asked: {question.text} Offered: {offered}"
    )


def confirm(order: OrderRecord, corrected: CartDraft | None, menu: MenuVersion) -> Outcome:
    """The outcome of a customer's look at the proposed cart: right as it is, or `corrected` by them.

    Raises:
        InvalidCart: corrected to something that the menu does not offer now. No limit is overruled.
    """
    draft = corrected or order.draft
    if draft is None:
        raise InvalidCart([("/cart", "there is no proposed cart to confirm")])
    detail = {"corrected": canonical_draft(draft) != canonical_draft(order.draft)}
    return _priced(Event.CONFIRMED, order, draft, menu, detail)


def _priced(
    event: Event,
    order: OrderRecord,
    draft: CartDraft,
    menu: MenuVersion,
    detail: dict[str, Any],
    overruled: frozenset[str] = frozenset(),
) -> Outcome:
    heard = order.transcript or Transcript(text="", confidence=0.0)
    judged = judge_chosen(draft, menu, heard)
    problems = [
        (f"/cart/lines/{f.line}" if f.line is not None else "/cart/lines", f.message)
        for f in judged.findings
        if f.severity == "blocking" and f.code not in overruled
    ]
    if problems:
        raise InvalidCart(problems)
    return Outcome(event, draft=draft, cart=judged.cart, findings=judged.findings, detail=detail)
