"""Changes rows by compare-and-set, and moves orders through their states."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from infra.sql.database import Database
from schemas.errors import StaleState
from schemas.lifecycle import State, advance
from schemas.records.orders import OrderRecord, Outcome
from services.storage.base.ids import new_id
from services.storage.base.mapping import columns_of, order_of, without_recordings
from services.storage.base.table_base import Base
from services.storage.base.tables import EventRow, OrderRow, OutboxRow, ReviewRow
from services.storage.outbox.messages import add_messages

Row = TypeVar("Row", OrderRow, OutboxRow)

# Columns of an order that no worker holds; and before the first attempt of a stage.
FREE: dict[str, Any] = {"lease_owner": None, "lease_until": None, "claimed_at": None}
IDLE = FREE | {"attempt": 0, "next_attempt_at": None}


@contextmanager
def writing(database: Database) -> Iterator[tuple[Session, datetime]]:
    """Open a write transaction; yield its session and the database's time."""
    with database.write() as session:
        yield session, database.now(session)


def swap(
    session: Session, table: type[Row], key: str, seen: int, *guards: ColumnElement[bool], **columns: Any
) -> Row | None:
    """Update and return a row if it is still at version `seen` and passes the guards, otherwise None.

    Increments `version` unless the columns set it.
    """
    statement = (
        update(table)
        .where(table.id == key, table.version == seen, *guards)
        .values({"version": seen + 1, **columns})
        .returning(table)
        # A row cached in the session may be out of date.
        .execution_options(synchronize_session=False, populate_existing=True)
    )
    return session.scalars(statement).one_or_none()


def insert_into(session: Session, table: type[Base]) -> postgresql.Insert | sqlite.Insert:
    """Return an INSERT of the session's dialect, which supports ON CONFLICT."""
    is_sqlite = session.get_bind().dialect.name == "sqlite"
    return sqlite.insert(table) if is_sqlite else postgresql.insert(table)


def move(session: Session, now: datetime, order: OrderRecord, outcome: Outcome, **more: Any) -> OrderRecord:
    """Advance an order: state, columns and history, a new review, and messages to the shop's endpoints.

    A cancelled order, or one whose recordings are refused, no longer refers to them; the caller or the
    sweeper deletes the files. Unless `more` columns say otherwise the lease is released, and the next stage
    starts at attempt 0.

    Raises:
        StaleState: the order can't move so, or has changed since it was read.
    """
    state = advance(order.state, outcome.event)
    columns = columns_of(order, outcome) | more
    if outcome.refused or state is State.CANCELLED:
        utterances = columns.get("utterances") or order.utterances
        columns |= {"audio_key": None, "utterances": without_recordings(utterances)}
    row = swap_order(session, order, IDLE | {"state": state.value, "updated_at": now} | columns)
    record_event(session, row, outcome.event.value, now, outcome.detail)
    if state is State.IN_REVIEW and order.state is not state:
        _open_review(session, now, row)
    moved = order_of(row)
    add_messages(session, now, order, moved)
    # Flushed here so that a violated constraint points to this place.
    session.flush()
    return moved


def swap_order(session: Session, order: OrderRecord, columns: dict[str, Any]) -> OrderRow:
    """Update an order's row; raises StaleState if it has changed since `order` was read."""
    where = OrderRow.state == order.state.value
    row = swap(session, OrderRow, order.id, order.version, where, **columns)
    if row is None:
        raise StaleState(f"Order {order.id} is no longer {order.state.value} at version {order.version}")
    return row


def record_event(session: Session, row: OrderRow, kind: str, now: datetime, detail: dict[str, Any]) -> None:
    """Append to the history, numbered by the version that the order has just reached."""
    session.add(EventRow(order_id=row.id, seq=row.version, at=now, type=kind, state=row.state, detail=detail))


def withdraw_review(session: Session, order_id: str) -> None:
    """Close an order's review without a decision, because it is no longer needed."""
    session.execute(
        update(ReviewRow)
        .where(ReviewRow.order_id == order_id, ReviewRow.status.in_(["open", "claimed"]))
        .values(status="withdrawn", claimed_by=None, lease_until=None, version=ReviewRow.version + 1)
    )


def _open_review(session: Session, now: datetime, order: OrderRow) -> None:
    """Open a new review, or reopen the order's earlier one after a replay."""
    fresh = {"status": "open", "reasons": order.reasons, "proposed": order.cart, "created_at": now}
    undecided = ("claimed_by", "lease_until", "decision", "decided_by", "decided_at", "reason")
    reopened = session.execute(
        update(ReviewRow)
        .where(ReviewRow.order_id == order.id)
        .values(**fresh, **dict.fromkeys(undecided), version=ReviewRow.version + 1)
        .returning(ReviewRow.id)
    )
    if reopened.first() is None:
        session.add(ReviewRow(id=new_id("rev"), shop_id=order.shop_id, order_id=order.id, version=1, **fresh))
