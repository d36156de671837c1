"""How an order gets in: its row, its first events and its idempotency key, inside one transaction."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy.orm import Session

from schemas.errors import IdempotencyMismatch, StorageUnavailable
from schemas.lifecycle import Event, State, advance
from schemas.records.orders import Idempotency, NewOrder, OrderRecord
from schemas.shops.access import source_of
from services.storage.base.changes import insert_into
from services.storage.base.mapping import document_of, order_of
from services.storage.base.tables import EventRow, IdempotencyRow, OrderRow


def insert_order(session: Session, now: datetime, new: NewOrder, shop: str, order_id: str) -> OrderRecord:
    """Store an order as RECEIVED; one that came as text as if it had been heard, with both events in its
    history."""
    path = [(State.RECEIVED.value, State.RECEIVED)]
    if new.transcript is not None:
        path.append((Event.TRANSCRIBED.value, advance(State.RECEIVED, Event.TRANSCRIBED)))
    row = OrderRow(
        id=order_id,
        shop_id=shop,
        state=path[-1][1].value,
        version=len(path),
        menu_id=new.menu_id,
        menu_version=new.menu_version,
        language=new.language,
        audio_key=new.audio_key,
        audio_format=new.audio_format,
        transcript=document_of(new.transcript),
        utterances=[],
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
        source=source_of(new.client),
        traceparent=new.traceparent,
    )
    session.add(row)
    session.flush()
    session.add_all(
        EventRow(order_id=order_id, seq=seq, at=now, type=event, state=state.value, detail={})
        for seq, (event, state) in enumerate(path, 1)
    )
    return order_of(row)


class KeyTaken(Exception):
    """An order was stored under this idempotency key before; this transaction must not commit."""

    def __init__(self, idempotency: Idempotency) -> None:
        self.idempotency = idempotency


def insert_key(
    session: Session, now: datetime, idempotency: Idempotency | None, shop: str, order_id: str
) -> None:
    """Bind the key, if any, to the order. The primary key decides between requests that come at once: the
    later waits until the first has committed or not, so no lock and no look before are needed.

    Raises:
        KeyTaken: it is another order's already.
    """
    if idempotency is None:
        return
    taken = session.execute(
        insert_into(session, IdempotencyRow)
        .values(
            shop_id=shop,
            client=idempotency.client,
            key=idempotency.key,
            body_hash=idempotency.body_hash,
            order_id=order_id,
            created_at=now,
        )
        .on_conflict_do_nothing()
        .returning(IdempotencyRow.key)
    )
    if taken.first() is None:
        raise KeyTaken(idempotency)


def first_order(session: Session, idempotency: Idempotency, shop: str) -> OrderRow:
    """The order that was stored under this key, which was found to be taken.

    Raises:
        IdempotencyMismatch: it came with another body.
        StorageUnavailable: the key was dropped for its age in this very moment.
    """
    seen = session.get(IdempotencyRow, (shop, idempotency.client, idempotency.key))
    if seen is None:
        raise StorageUnavailable("This Idempotency-Key is being released")
    if seen.body_hash != idempotency.body_hash:
        raise IdempotencyMismatch("This Idempotency-Key was used with another body")
    return session.get_one(OrderRow, seen.order_id)
