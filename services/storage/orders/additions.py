"""More that a customer says or types: which orders take it, and what it makes of their columns."""

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
    """Raises Conflict unless the order takes another utterance."""
    if order.state is State.IN_REVIEW:
        check_unclaimed(session, now, order.id)
    if takes_more(order):
        return
    title = "The order takes no more"
    if order.state not in OPEN:
        raise Conflict(f"The order is {STATUS[order.state]}", hint="Make another order.", title=title)
    if len(order.all_utterances) >= MAX_UTTERANCES:
        most = f"The order has {MAX_UTTERANCES} utterances"
        raise Conflict(most, hint="Confirm it, cancel it, or make another order.", title=title)
    raise Conflict("A person looks at the order", hint="Wait for their decision, or cancel it.", title=title)


def added(order: OrderRecord, new: StoredUtterance) -> tuple[Event, dict[str, Any]]:
    """The event and the columns of an order with one more utterance. Without the transcript of all of them
    while one is to be transcribed, and without what was made of the others but for the cart last shown. The
    order said again, as staff asked, takes the place of all of them."""
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
    """Whether the customer was asked for the whole order. An allergy is kept: it may not be said twice."""
    question = question_of(order)
    allergy = any(finding.code == "allergy_said" for finding in order.findings)
    return question is not None and question.id == SAY_AGAIN and not allergy
