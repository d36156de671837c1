"""The content of an order's page, in the customer's language."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

from schemas import wording
from schemas.cart import Cart, CartLine
from schemas.lifecycle import ENDS, SETTLED, TERMINAL, Event, StageName, State
from schemas.menu import Menu
from schemas.open_questions import line_of, open_questions, settled_by
from schemas.order import SAY_IT_AGAIN, Order
from schemas.question import Choice, Question
from schemas.records.orders import OrderRecord
from schemas.records.reviews import ReviewRecord
from schemas.review import ReviewReason
from schemas.sentences.sentences import Sentences, sentences
from schemas.transcript import Transcript
from services.api import present
from services.pipeline.flow import FLOW
from services.web.customers.order_form import line_forms

NO_TRANSCRIPT = Transcript(text="", confidence=0.0)

# Seconds between refreshes without scripts: often during processing, seldom during review.
REFRESH_S = {**dict.fromkeys(FLOW, 2), State.IN_REVIEW: 6}


def of_order(record: OrderRecord, review: ReviewRecord | None, menu: Menu) -> dict[str, Any]:
    """Return the template context of the order's page."""
    transcript = record.transcript
    unheard = record.state is State.IN_REVIEW and (
        ReviewReason.NOTHING_HEARD in record.reasons
        or (transcript is not None and transcript.nothing_was_said)
    )
    order = present.order(record, review)
    questions = open_questions(record.findings, record.reasons) if order.question is not None else []
    return {
        "order": order,
        "menu": menu,
        "state": record.state.value,
        "sound": record.audio_key is not None,
        "steps": _steps(record.state, sentences(menu.language)),
        "unheard": unheard,
        "say_again": record.error is not None and record.error.code == SAY_IT_AGAIN,
        "question": order.question,
        "answers": _answers(order, menu),
        "asked": len(questions),
        "confirms": record.confirm,
        "asked_line": line_of(order.question) if order.question is not None else None,
        "changed_lines": _changed_by_staff(record, review),
        "left_out": _left_out_by_staff(record, review),
        "settled_by": settled_by,
        "doubts": [] if unheard else _doubts(record, order, questions, menu),
        "live": record.state not in SETTLED or (record.state is State.IN_REVIEW and not unheard),
        "over": record.state in TERMINAL,
        "refresh_s": REFRESH_S.get(record.state),
        "events": [event.value for event in Event],
        "ends": sorted(ENDS),
        "size_names": {size.id: size.name for size in menu.sizes},
        "open": False,
        **changing(record, menu, record.cart, _keys(record.cart)),
    }


def _doubts(record: OrderRecord, order: Order, questions: Sequence[Question], menu: Menu) -> list[str]:
    """Return the reasons for the review, except those shown at a line or asked in a question."""
    if record.state is not State.IN_REVIEW:
        return []
    lines = order.cart.lines if order.cart else ()
    shown = {finding.message for line in lines for finding in line.findings}
    shown |= {f.message for f in order.findings if any(settled_by(question, f) for question in questions)}
    doubts = wording.doubts(record.reasons, order.findings, menu.language)
    return [doubt for doubt in doubts if doubt not in shown]


def total_words(cart: Cart, say: Sentences) -> str:
    """Return a cart's total, marked if it is a lower bound."""
    return least(cart.total, cart.total_is_minimum, cart.currency, say)


def least(amount: int, is_minimum: bool, currency: str, say: Sentences) -> str:
    """Return an amount of money, marked if it is a lower bound."""
    shown = wording.money(amount, currency)
    return say("from_price", price=shown) if is_minimum else shown


def _answers(order: Order, menu: Menu) -> list[tuple[str, str]]:
    """Return each answer's id, and its text with its price."""
    if order.question is None:
        return []
    line, say = line_of(order.question), sentences(menu.language)
    lines = order.cart.lines if order.cart else []
    several = line is not None and line < len(lines) and lines[line].quantity > 1
    return [(choice.id, _answer(choice, several, menu, say)) for choice in order.question.answers]


def _answer(choice: Choice, several: bool, menu: Menu, say: Sentences) -> str:
    # The text of a whole cart includes its total.
    if choice.price is None or wording.money(choice.price, menu.currency) in choice.text:
        return choice.text
    price = least(choice.price, choice.price_is_minimum, menu.currency, say)
    return say("answer_price", answer=choice.text, price=say("each_price", price=price) if several else price)


def _corrected(record: OrderRecord, review: ReviewRecord | None) -> ReviewRecord | None:
    """Return the review that corrected the cart awaiting confirmation, if one did."""
    waits = record.state is State.PROPOSED and record.cart is not None
    return review if waits and review is not None and review.decision == "correct" else None


def _left_out_by_staff(record: OrderRecord, review: ReviewRecord | None) -> list[str]:
    """Return the names of items that the reviewer removed."""
    if (done := _corrected(record, review)) is None or done.proposed is None or record.cart is None:
        return []
    skus = {line.sku for line in record.cart.lines}
    return [line.name for line in done.proposed.lines if line.sku not in skus]


def _changed_by_staff(record: OrderRecord, review: ReviewRecord | None) -> frozenset[int] | None:
    """Return the indexes of lines that the reviewer changed; None if the cart wasn't corrected."""
    if (done := _corrected(record, review)) is None or record.cart is None:
        return None
    before = Counter(map(_bought, done.proposed.lines if done.proposed else ()))
    new = set[int]()
    for number, line in enumerate(record.cart.lines):
        if before[_bought(line)] == 0:
            new.add(number)
        before[_bought(line)] -= 1
    return frozenset(new)


def _bought(line: CartLine) -> Hashable:
    chosen = frozenset((o.group, o.id, o.amount, o.count, o.portion) for o in line.options)
    return line.sku, line.quantity, line.size, chosen


def changing(record: OrderRecord, menu: Menu, cart: Cart | None, keys: list[str]) -> dict[str, Any]:
    """Return the context of the form for changes; `blockers` are why the cart can't be confirmed."""
    say = sentences(menu.language)
    if cart is None or record.state is not State.PROPOSED:
        return {"forms": [], "cart": cart, "say": say, "least": least, "total_words": total_words}
    return {
        "say": say,
        "least": least,
        "total_words": total_words,
        "order_id": record.id,
        "version": record.version,
        "cart": cart,
        "forms": line_forms(cart, keys, menu),
        "addable": [item for item in menu.items if item.available and f"+{item.sku}" not in keys],
        "blockers": [
            finding.message
            for line in cart.lines
            for finding in line.findings
            if finding.severity == "blocking"
        ],
    }


def _keys(cart: Cart | None) -> list[str]:
    return [str(index) for index in range(len(cart.lines))] if cart else []


def stage_words(stage: StageName, say: Sentences) -> str:
    """Return a stage's name for the customer."""
    return say(f"step_{stage.value}")


def _steps(state: State, say: Sentences) -> list[tuple[str, str]]:
    """Return each stage's name with `done`, `now` or `next`."""
    if state not in FLOW:
        return [(stage_words(stage.name, say), "done") for stage in FLOW.values()]
    steps, mark = [], "done"
    for waiting, stage in FLOW.items():
        if waiting is state:
            mark = "now"
        steps.append((stage_words(stage.name, say), mark))
        if mark == "now":
            mark = "next"
    return steps
