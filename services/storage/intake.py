"""How an order gets in: its row, its first events and its idempotency key, inside one transaction."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy.orm import Session

from schemas.errors import IdempotencyMismatch
from schemas.lifecycle import Event, State
from services.storage.changes import move, record_event
from services.storage.mapping import document_of, order_of
from services.storage.records import Idempotency, NewOrder, OrderRecord
from services.storage.tables import IdempotencyRow, OrderRow


def insert_order(session: Session, now: datetime, new: NewOrder, order_id: str) -> OrderRecord:
    """Store an order as RECEIVED; one that came as text moves on to TRANSCRIBED like any other."""
    row = OrderRow(
        id=order_id,
        state=State.RECEIVED.value,
        version=1,
        menu_id=new.menu_id,
        menu_version=new.menu_version,
        language=new.language,
        audio_key=new.audio_key,
        audio_format=new.audio_format,
        findings=[],
        reasons=[],
        metadata_=new.metadata,
        timings={},
        engine={},
        attempt=0,
        created_at=now,
        updated_at=now,
        confirm=new.confirm,
        client=new.client,
    )
    session.add(row)
    session.flush()
    record_event(session, row, State.RECEIVED.value, now, None)
    if new.transcript is None:
        return order_of(row)
    columns = {"transcript": document_of(new.transcript)}
    # The shop is told of what settles only, and this is far from it.
    return move(session, now, order_of(row), Event.TRANSCRIBED, columns, tells=frozenset())


def first_order(session: Session, idempotency: Idempotency) -> OrderRow | None:
    """The order that was stored under this key, if there is one.

    Raises:
        IdempotencyMismatch: there is, and it came with another body.
    """
    seen = session.get(IdempotencyRow, (idempotency.client, idempotency.key))
    if seen is None:
        return None
    if seen.body_hash != idempotency.body_hash:
        raise IdempotencyMismatch("This Idempotency-Key was used with another body")
    return session.get(OrderRow, seen.order_id)


def insert_key(session: Session, now: datetime, idempotency: Idempotency, order_id: str) -> None:
    session.add(
        IdempotencyRow(
            client=idempotency.client,
            key=idempotency.key,
            body_hash=idempotency.body_hash,
            order_id=order_id,
            created_at=now,
        )
    )
