"""Stores a new order: its row, its first events and its idempotency key, in one transaction."""

from __future__ import annotations

from dataclasses import asdict, fields
from datetime import datetime

from sqlalchemy.orm import Session

from infra.sql.database import Database
from schemas.errors import IdempotencyMismatch, StorageUnavailable
from schemas.lifecycle import Event, State, advance
from schemas.records.orders import Idempotency, NewOrder, OrderRecord
from schemas.shops.access import source_of
from services.storage.base.changes import insert_into
from services.storage.base.mapping import order_of
from services.storage.base.tables import EventRow, IdempotencyRow, OrderRow


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


class KeyTaken(Exception):
    """Rolls back a transaction whose idempotency key belongs to another order."""

    def __init__(self, idempotency: Idempotency) -> None:
        self.idempotency = idempotency


def insert_key(
    session: Session, now: datetime, idempotency: Idempotency | None, shop: str, order_id: str
) -> None:
    """Bind the key, if any, to the order. The primary key decides between simultaneous requests: the later
    one waits for the first to commit. Raises KeyTaken."""
    if idempotency is None:
        return
    row = insert_into(session, IdempotencyRow).values(
        shop_id=shop, **asdict(idempotency), order_id=order_id, created_at=now
    )
    inserted = session.execute(row.on_conflict_do_nothing().returning(IdempotencyRow.key))
    if inserted.first() is None:
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
