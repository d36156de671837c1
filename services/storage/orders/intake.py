"""What an order consists of when it is stored, and after each further utterance; and its idempotency keys."""

from __future__ import annotations

from dataclasses import asdict, fields
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from infra.sql.database import Database
from schemas.errors import Conflict, IdempotencyMismatch, StorageUnavailable
from schemas.lifecycle import OPEN, STATUS, Event, State, advance
from schemas.open_questions import question_of, takes_more
from schemas.order import MAX_UTTERANCES
from schemas.question import SAY_AGAIN
from schemas.records.orders import Idempotency, NewOrder, OrderRecord, StoredUtterance
from schemas.shops.access import source_of
from schemas.transcript import joined
from services.storage.base.changes import insert_into
from services.storage.base.mapping import columns_of_utterances, order_of
from services.storage.base.tables import EventRow, IdempotencyRow, OrderRow
from services.storage.orders.replays import CLEARED, check_unclaimed


class KeyTaken(Exception):
    """Rolls back a transaction whose idempotency key belongs to another order."""

    def __init__(self, idempotency: Idempotency) -> None:
        self.idempotency = idempotency


def insert_key(session: Session, now: datetime, idempotency: Idempotency | None, order: OrderRecord) -> None:
    """Bind the key, if any, to its order. The primary key decides between simultaneous requests: the later
    one waits for the first to commit. Raises KeyTaken."""
    if idempotency is None:
        return
    row = insert_into(session, IdempotencyRow).values(
        shop_id=order.shop, **asdict(idempotency), order_id=order.id, created_at=now
    )
    if session.execute(row.on_conflict_do_nothing().returning(IdempotencyRow.key)).first() is None:
        raise KeyTaken(idempotency)


def first_order(database: Database, taken: KeyTaken, shop: str) -> OrderRecord:
    """Return the order that has a key.

    Raises:
        IdempotencyMismatch: it came with another body.
        StorageUnavailable: the key has just expired.
    """
    given = taken.idempotency
    with database.read() as session:
        stored = session.get(IdempotencyRow, (shop, given.client, given.key))
        if stored is None:
            raise StorageUnavailable("This Idempotency-Key is being released")
        if stored.body_hash != given.body_hash:
            raise IdempotencyMismatch("This Idempotency-Key was used with another body")
        return order_of(session.get_one(OrderRow, stored.order_id))


def insert_order(session: Session, now: datetime, new: NewOrder, shop: str, order_id: str) -> OrderRecord:
    """Store an order as RECEIVED, or a typed one as TRANSCRIBED with both events in its history."""
    path = [(State.RECEIVED.value, State.RECEIVED)]
    if new.transcript is not None:
        path.append((Event.TRANSCRIBED.value, advance(State.RECEIVED, Event.TRANSCRIBED)))
    given = {one.name: getattr(new, one.name) for one in fields(new)}
    row = OrderRow(
        metadata_=given.pop("metadata"),
        **given,
        id=order_id,
        shop_id=shop,
        state=path[-1][1].value,
        version=len(path),
        created_at=now,
        updated_at=now,
        source=source_of(new.client),
    )
    session.add(row)
    session.flush()
    session.add_all(
        EventRow(order_id=order_id, seq=seq, at=now, type=event, state=state.value, detail={})
        for seq, (event, state) in enumerate(path, 1)
    )
    return order_of(row)


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
