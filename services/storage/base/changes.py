"""How rows change: compare-and-set, and the one way to move an order."""

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
from schemas.lifecycle import Event, State, advance
from schemas.records.orders import OrderRecord
from services.storage.base.ids import new_id
from services.storage.base.mapping import order_of, without_recordings
from services.storage.base.table_base import Base
from services.storage.base.tables import EventRow, OrderRow, OutboxRow, ReviewRow
from services.storage.outbox.messages import tell

Row = TypeVar("Row", OrderRow, ReviewRow, OutboxRow)

# An order that is not held, before the first attempt of a stage.
IDLE: dict[str, Any] = {"attempt": 0, "lease_owner": None, "lease_until": None, "next_attempt_at": None}


@contextmanager
def writing(database: Database) -> Iterator[tuple[Session, datetime]]:
    """One write transaction and the database's time at its begin; errors as of `Database`."""
    with database.write() as session:
        yield session, database.now(session)


def swap(
    session: Session, table: type[Row], key: str, seen: int, *guards: ColumnElement[bool], **columns: Any
) -> Row | None:
    """Change one row if it is still at version `seen` and passes the guards; None when it has moved on.

    `version` grows by one unless the columns name it.
    """
    statement = (
        update(table)
        .where(table.id == key, table.version == seen, *guards)
        .values({"version": seen + 1, **columns})
        .returning(table)
        # The row that comes back is the truth; the one that the session may remember is not.
        .execution_options(synchronize_session=False, populate_existing=True)
    )
    return session.scalars(statement).one_or_none()


def insert_into(session: Session, table: type[Base]) -> postgresql.Insert | sqlite.Insert:
    """An INSERT that may say what happens on a conflict, for the session's database."""
    is_sqlite = session.get_bind().dialect.name == "sqlite"
    return sqlite.insert(table) if is_sqlite else postgresql.insert(table)


def move(
    session: Session,
    now: datetime,
    order: OrderRecord,
    event: Event,
    columns: dict[str, Any] | None = None,
    detail: dict[str, Any] | None = None,
    *,
    refused: bool = False,
) -> OrderRecord:
    """Advance an order: state, columns and history, its review where one opens, and the messages to its
    shop's endpoints.

    An order that is cancelled, or whose recordings were `refused`, names them no more; the files are for the
    caller to delete, or for the sweeper (`services/workers/sweeper.py`).

    Every move of every order goes through here. Unless `columns` say otherwise the lease is given back, and
    the next stage begins at attempt 0.

    Raises:
        StaleState: the table has no such move, or the row is no longer what `order` says.
    """
    state = advance(order.state, event)
    columns = columns or {}
    if refused or state is State.CANCELLED:
        utterances = columns.get("utterances") or order.utterances
        columns = {**columns, "audio_key": None, "utterances": without_recordings(utterances)}
    row = swap_order(session, order, IDLE | {"state": state.value, "updated_at": now} | columns)
    record_event(session, row, event.value, now, detail)
    if state is State.IN_REVIEW and order.state is not state:
        _open_review(session, now, row)
    moved = order_of(row)
    tell(session, now, order, moved)
    # Written now and not at commit: a violated constraint then names this place.
    session.flush()
    return moved


def swap_order(session: Session, order: OrderRecord, columns: dict[str, Any]) -> OrderRow:
    """Change an order's row if it is still what `order` says.

    Raises:
        StaleState: it is not.
    """
    where = OrderRow.state == order.state.value
    row = swap(session, OrderRow, order.id, order.version, where, **columns)
    if row is None:
        raise StaleState(f"Order {order.id} is no longer {order.state.value} at version {order.version}")
    return row


def record_event(
    session: Session, row: OrderRow, kind: str, now: datetime, detail: dict[str, Any] | None
) -> None:
    """Append to the history. The version just won by compare-and-set is a number that no other event has."""
    session.add(
        EventRow(order_id=row.id, seq=row.version, at=now, type=kind, state=row.state, detail=detail or {})
    )


def withdraw_review(session: Session, order_id: str) -> None:
    """Close an order's review without a decision: what it asked has settled itself."""
    session.execute(
        update(ReviewRow)
        .where(ReviewRow.order_id == order_id, ReviewRow.status.in_(["open", "claimed"]))
        .values(status="withdrawn", claimed_by=None, lease_until=None, version=ReviewRow.version + 1)
    )


def _open_review(session: Session, now: datetime, order: OrderRow) -> None:
    """A new review; or the order's old one again, where it was replayed and is doubted once more."""
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
