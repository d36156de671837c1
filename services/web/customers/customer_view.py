"""What a customer is told about an order, in their words and not in ours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

from schemas import wording
from schemas.cart import Cart, CartLine
from schemas.lifecycle import ENDS, SETTLED, TERMINAL, Event, StageName, State
from schemas.menu import Menu
from schemas.order import SAY_IT_AGAIN, Order
from schemas.question import Choice, Question
from schemas.records.orders import OrderRecord
from schemas.records.reviews import ReviewRecord
from schemas.review import ReviewReason
from schemas.sentences.sentences import Sentences, sentences
from schemas.transcript import Transcript
from services.api import present
from services.pipeline.flow import FLOW
from services.validation.questions import line_of, open_questions, settled_by
from services.web.customers.order_form import line_forms

NOTHING_HEARD = Transcript(text="", confidence=0.0)

# Seconds between two looks where there are no scripts: often while the machine works, seldom for a human.
REFRESH_S = {**dict.fromkeys(FLOW, 2), State.IN_REVIEW: 6}


def of_order(record: OrderRecord, review: ReviewRecord | None, menu: Menu) -> dict[str, Any]:
    """Everything that the order's page shows."""
    heard = record.transcript
    unheard = record.state is State.IN_REVIEW and (
        ReviewReason.NOTHING_HEARD in record.reasons or (heard is not None and heard.nothing_was_said)
    )
    order = present.order(record, review)
    asked = open_questions(record.findings, record.reasons) if order.question is not None else []
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
        "asked": len(asked),
        "confirms": record.confirm,
        "asked_line": line_of(order.question) if order.question is not None else None,
        "changed_lines": _changed_by_staff(record, review),
        "left_out": _left_out_by_staff(record, review),
        "settled_by": settled_by,
        "doubts": [] if unheard else _doubts(record, order, asked, menu),
        "live": record.state not in SETTLED or (record.state is State.IN_REVIEW and not unheard),
        "over": record.state in TERMINAL,
        "refresh_s": REFRESH_S.get(record.state),
        "events": [event.value for event in Event],
        "ends": sorted(ENDS),
        "size_names": {size.id: size.name for size in menu.sizes},
        "open": False,
        **changing(record, menu, record.cart, _keys(record.cart)),
    }


def _doubts(record: OrderRecord, order: Order, asked: Sequence[Question], menu: Menu) -> list[str]:
    """Why a colleague looks at it, each once: not what a line shows, or a question asks now or later."""
    if record.state is not State.IN_REVIEW:
        return []
    shown = {found.message for line in (order.cart.lines if order.cart else ()) for found in line.findings}
    shown |= {found.message for found in order.findings if any(settled_by(one, found) for one in asked)}
    return [
        said for said in wording.doubts(record.reasons, order.findings, menu.language) if said not in shown
    ]


def total_words(cart: Cart, say: Sentences) -> str:
    """What a cart costs, or the least that it can come to."""
    return least(cart.total, cart.total_is_minimum, cart.currency, say)


def least(amount: int, is_minimum: bool, currency: str, say: Sentences) -> str:
    """An amount of money, marked where it is a lower bound."""
    shown = wording.money(amount, currency)
    return say("from_price", price=shown) if is_minimum else shown


def _answers(order: Order, menu: Menu) -> list[tuple[str, str]]:
    """Each answer's id, and its words with what it costs."""
    if order.question is None:
        return []
    line, say = line_of(order.question), sentences(menu.language)
    lines = order.cart.lines if order.cart else []
    several = line is not None and line < len(lines) and lines[line].quantity > 1
    return [(choice.id, _answer(choice, several, menu, say)) for choice in order.question.answers]


def _answer(choice: Choice, several: bool, menu: Menu, say: Sentences) -> str:
    # A whole cart in words brings its total along.
    if choice.price is None or wording.money(choice.price, menu.currency) in choice.text:
        return choice.text
    price = least(choice.price, choice.price_is_minimum, menu.currency, say)
    return say("answer_price", answer=choice.text, price=say("each_price", price=price) if several else price)


def _corrected(record: OrderRecord, review: ReviewRecord | None) -> ReviewRecord | None:
    """The review that corrected the cart which is to be confirmed."""
    waits = record.state is State.PROPOSED and record.cart is not None
    return review if waits and review is not None and review.decision == "correct" else None


def _left_out_by_staff(record: OrderRecord, review: ReviewRecord | None) -> list[str]:
    """Names of what a colleague's correction has no line of any more."""
    if (done := _corrected(record, review)) is None or done.proposed is None or record.cart is None:
        return []
    kept = {line.sku for line in record.cart.lines}
    return [line.name for line in done.proposed.lines if line.sku not in kept]


def _changed_by_staff(record: OrderRecord, review: ReviewRecord | None) -> frozenset[int] | None:
    """Which lines a colleague put in; None where no colleague corrected the cart that is to be confirmed."""
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
    """What the form for changes shows; `blockers` is what keeps the cart from being confirmed."""
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
    """What a stage of the flow is to the one who waits for it."""
    return say(f"step_{stage.value}")


def _steps(state: State, say: Sentences) -> list[tuple[str, str]]:
    """Each stage's words with `done`, `now` or `next`."""
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
