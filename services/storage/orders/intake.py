"""How an order gets in: its row, its first events and its idempotency key, inside one transaction."""

from __future__ import annotations

from dataclasses import asdict, fields
from datetime import datetime

from sqlalchemy.orm import Session

from schemas.errors import IdempotencyMismatch, StorageUnavailable
from schemas.lifecycle import Event, State, advance
from schemas.order import DecodedBy
from schemas.records.orders import Idempotency, NewOrder, OrderRecord
from schemas.shops.access import source_of
from services.storage.base.changes import insert_into
from services.storage.base.mapping import order_of
from services.storage.base.tables import EventRow, IdempotencyRow, OrderRow


def insert_order(session: Session, now: datetime, new: NewOrder, shop: str, order_id: str) -> OrderRecord:
    """Store an order as RECEIVED; one that came as text is already transcribed, with both events in its
    history."""
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
        utterances=(),
        findings=(),
        reasons=(),
        timings={},
        engine=DecodedBy(),
        attempt=0,
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
    row = insert_into(session, IdempotencyRow).values(
        shop_id=shop, **asdict(idempotency), order_id=order_id, created_at=now
    )
    taken = session.execute(row.on_conflict_do_nothing().returning(IdempotencyRow.key))
    if taken.first() is None:
        raise KeyTaken(idempotency)


def first_order(session: Session, idempotency: Idempotency, shop: str) -> OrderRecord:
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
    return order_of(session.get_one(OrderRow, seen.order_id))
