"""The content of an order's page, in the customer's language."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from schemas import wording
from schemas.compare import bought, other_notes, paired
from schemas.lifecycle import ENDS, SETTLED, TERMINAL, Event, State
from schemas.menu import Menu
from schemas.open_questions import line_of, open_questions, settled_by, takes_more
from schemas.order import SAY_IT_AGAIN, Order
from schemas.priced_cart import Cart, CartLine, CartNote
from schemas.question import Choice, Question
from schemas.records.orders import OrderRecord
from schemas.records.reviews import ReviewRecord
from schemas.review import ReviewReason
from schemas.sentences.sentences import Sentences, sentences
from schemas.wording import least
from services.api import present
from services.pipeline.flow import FLOW
from services.web.customers.order_form import line_forms

# A cart in these states is compared with the one before.
SHOWN = (State.PROPOSED, State.IN_REVIEW)
# Seconds between refreshes without scripts: often during processing, seldom during review.
REFRESH_S = {**dict.fromkeys(FLOW, 2), State.IN_REVIEW: 6}


def of_order(record: OrderRecord, review: ReviewRecord | None, menu: Menu) -> dict[str, Any]:
    """Return the template context of the order's page."""
    order = present.order(record, review)
    unheard = record.state is State.IN_REVIEW and ReviewReason.NOTHING_HEARD in record.reasons
    unheard = unheard and order.question is None
    changes, answers = _changes(record, review), _answers(order, menu)
    questions = open_questions(record.findings, record.reasons) if order.question is not None else []
    lines = len(record.cart.lines) if record.cart else 0
    return {
        "order": order,
        "sound": record.audio_key is not None,
        "steps": _steps(record.state, sentences(menu.language)),
        "unheard": unheard,
        "say_again": record.error is not None and record.error.code == SAY_IT_AGAIN,
        "question": order.question,
        "answers": answers,
        "read_back": _read_back(order, answers, changes, menu),
        "number": pickup_number(record.id),
        "asked": len(questions),
        "missing": _missing(order),
        "confirms": record.needs_yes,
        "may_add": takes_more(record),
        "asked_line": line_of(order.question) if order.question is not None else None,
        "changes": changes,
        "not_caught": _not_caught(order),
        "settled_by": settled_by,
        "doubts": [] if unheard else _doubts(record, order, questions, menu),
        "live": record.state not in SETTLED or record.state is State.IN_REVIEW,
        "over": record.state in TERMINAL,
        "refresh_s": REFRESH_S.get(record.state),
        "events": [event.value for event in Event],
        "ends": sorted(ENDS),
        "open": False,
        **changing(record, menu, record.cart, [str(at) for at in range(lines)]),
    }


def _not_caught(order: Order) -> bool:
    """Return True if nothing was understood of what was added last."""
    newest = order.utterances[-1] if len(order.utterances) > 1 else None
    return newest is not None and newest.transcript is not None and not newest.transcript.text.strip()


def _doubts(record: OrderRecord, order: Order, questions: Sequence[Question], menu: Menu) -> list[str]:
    """Return the reasons for the review, except those shown at a line or asked in a question."""
    if record.state is not State.IN_REVIEW:
        return []
    lines = order.cart.lines if order.cart else ()
    shown = {finding.message for line in lines for finding in line.findings}
    shown |= {f.message for f in order.findings if any(settled_by(question, f) for question in questions)}
    doubts = wording.doubts(record.reasons, order.findings, menu.language)
    return [doubt for doubt in doubts if doubt not in shown]


def _missing(order: Order) -> set[int | None]:
    """Return the indexes of lines that can't be had, while the customer is asked what becomes of the cart."""
    if order.question is None or not order.question.whole:
        return set()
    found = {finding.line for finding in order.findings if finding.question == order.question}
    return found - {None}


def _answers(order: Order, menu: Menu) -> list[tuple[str, str]]:
    """Return each answer's id, and its text with its price."""
    if order.question is None:
        return []
    line, say = line_of(order.question), sentences(menu.language)
    lines = order.cart.lines if order.cart else []
    several = line is not None and line < len(lines) and lines[line].quantity > 1
    return [(choice.id, _answer(choice, several, menu, say)) for choice in order.question.answers]


def _answer(choice: Choice, several: bool, menu: Menu, say: Sentences) -> str:
    if choice.price is None:
        return choice.text
    price = least(choice.price, choice.price_is_minimum, menu.currency, say)
    return say("answer_price", answer=choice.text, price=say("each_price", price=price) if several else price)


@dataclass(frozen=True, slots=True)
class Changes:
    """How the cart differs from the one shown before: indexes of its new lines, those `added` among them, its
    new notes, and the names of lines and words of notes that went. `by_staff`: by a reviewer, else by what
    the customer added."""

    by_staff: bool
    lines: frozenset[int]
    added: frozenset[int]
    notes: list[CartNote]
    left_out: list[str]


def _changes(record: OrderRecord, review: ReviewRecord | None) -> Changes | None:
    """Return what changed since the customer last saw the cart; None if nothing did."""
    by_staff = review is not None and review.decision == "correct"
    shown = review.proposed if review is not None and by_staff else record.before
    if record.cart is None or record.state not in SHOWN or not (by_staff or shown):
        return None
    before = shown or record.cart.model_copy(update={"lines": [], "notes": []})
    return _compared(before, record.cart, by_staff=by_staff)


def _compared(before: Cart, cart: Cart, *, by_staff: bool) -> Changes:
    pairs, _ = paired(before.lines, cart.lines)
    kept = {id(new) for old, new in pairs if new is not None and bought(old) == bought(new)}
    lines = frozenset(at for at, line in enumerate(cart.lines) if id(line) not in kept)
    had = {id(new) for old, new in pairs if old is not None and new is not None and old.sku == new.sku}
    added = frozenset(at for at in lines if id(cart.lines[at]) not in had)
    gone = [_sized(old) for old, new in pairs if new is None or new.sku != old.sku]
    gone += [f"“{note.text}”" for note in other_notes(before, cart)]
    return Changes(by_staff, lines, added, other_notes(cart, before), gone)


def _read_back(order: Order, answers: Sequence[tuple[str, str]], changes: Changes | None, menu: Menu) -> str:
    """Return the sentences that read the open question, or the cart with its changes and total."""
    say = sentences(menu.language)
    if order.question is not None and not answers:
        return ""  # it is the headline
    if order.question is not None:
        choices = say.joined([words for _, words in answers], "or")
        return say("read_choices", question=order.question.text, choices=choices)
    if order.cart is None or order.status not in ("needs_confirmation", "completed"):
        return ""
    lines = [_line_words(line, menu) for line in order.cart.lines]
    read = [f"{line}." for line in lines] + _read_changes(lines, changes, say)
    if order.status == "completed":
        read.append(say("read_number", number=pickup_number(order.id)))
    total = least(order.cart.total, order.cart.total_is_minimum, menu.currency, say)
    return " ".join([*read, f"{say('page_total')}: {total}."])


def _read_changes(lines: Sequence[str], changes: Changes | None, say: Sentences) -> list[str]:
    read = []
    if changes is not None and (changes.lines or changes.notes):
        names = say.joined([lines[at] for at in sorted(changes.lines)] + [one.text for one in changes.notes])
        read.append(say("read_changed", names=names))
    if changes is not None and changes.left_out:
        read.append(say("page_left_out", names=", ".join(changes.left_out)) + ".")
    return read


def _line_words(line: CartLine, menu: Menu) -> str:
    named = f"{line.quantity} {_sized(line)}"
    return ", ".join([named, *(wording.option_name(option, menu.language) for option in line.options)])


def _sized(line: CartLine) -> str:
    return " ".join(filter(None, [line.size_name, line.name]))


def pickup_number(order_id: str) -> str:
    """Return the end of an order's id, by which it is called at the counter."""
    return order_id[-4:].upper()


def changing(record: OrderRecord, menu: Menu, cart: Cart | None, keys: list[str]) -> dict[str, Any]:
    """Return the context of the form for changes; `blockers` are why the cart can't be confirmed."""
    shown: dict[str, Any] = {"say": sentences(menu.language), "menu": menu, "cart": cart}
    if cart is None or record.state is not State.PROPOSED:
        return shown
    return shown | {
        "order_id": record.id,
        "version": record.version,
        "forms": line_forms(cart, keys, menu),
        "addable": [item for item in menu.items if item.available and f"+{item.sku}" not in keys],
        "blockers": [found.message for line in cart.lines for found in line.findings if found.blocks],
    }


def _steps(state: State, say: Sentences) -> list[tuple[str, str]]:
    """Return each stage's name with `done`, `now` or `next`."""
    now = list(FLOW).index(state) if state in FLOW else len(FLOW)
    marks = ["done"] * now + ["now"] + ["next"] * len(FLOW)
    return [
        (say(f"step_{stage.name.value}"), mark) for stage, mark in zip(FLOW.values(), marks, strict=False)
    ]
