"""Further utterances of a customer: which orders accept one, and how it changes their columns."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from schemas.errors import Conflict
from schemas.lifecycle import OPEN, STATUS, Event, State
from schemas.open_questions import question_of, takes_more
from schemas.order import MAX_UTTERANCES
from schemas.question import SAY_AGAIN
from schemas.records.orders import OrderRecord, StoredUtterance
from schemas.transcript import joined
from services.storage.base.mapping import columns_of_utterances
from services.storage.orders.replays import CLEARED, check_unclaimed


def check_open(session: Session, now: datetime, order: OrderRecord) -> None:
    """Raise Conflict unless the order accepts another utterance."""
    if order.state is State.IN_REVIEW:
        check_unclaimed(session, now, order.id)
    if takes_more(order):
        return
    title = "The order takes no more"
    if order.state not in OPEN:
        raise Conflict(f"The order is {STATUS[order.state]}", hint="Make another order.", title=title)
    if len(order.all_utterances) >= MAX_UTTERANCES:
        full = f"The order has {MAX_UTTERANCES} utterances"
        raise Conflict(full, hint="Confirm it, cancel it, or make another order.", title=title)
    raise Conflict("Staff are checking the order", hint="Wait for their decision, or cancel it.", title=title)


def added(order: OrderRecord, new: StoredUtterance) -> tuple[Event, dict[str, Any]]:
    """Return the event and the columns of an order with one more utterance.

    Earlier results are cleared except for the cart that was shown last. If staff asked for the whole order
    again, the new utterance replaces all others.
    """
    again = _said_again(order)
    utterances = (new,) if again else (*order.all_utterances, new)
    transcripts = [one.transcript for one in utterances if one.transcript is not None]
    is_whole = len(transcripts) == len(utterances)
    columns = CLEARED | {
        "transcript": joined(transcripts) if is_whole else None,
        "before": None if again else order.cart or order.before,
        "confirm": True,
        "answer": None,
        "decision": None,
    }
    event = Event.ADDED_TEXT if new.kind == "text" else Event.ADDED_AUDIO
    return event, columns | columns_of_utterances(utterances)


def _said_again(order: OrderRecord) -> bool:
    """Return True if the new utterance replaces the others: the customer was asked for the whole order. Not
    after an allergy, which they may not repeat."""
    question = question_of(order)
    allergy = any(finding.code == "allergy_said" for finding in order.findings)
    return question is not None and question.id == SAY_AGAIN and not allergy
