"""Changes rows by compare-and-set, and moves orders through their states, with their messages to the shop."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from infra.sql.database import Database
from schemas.compare import corrections
from schemas.errors import StaleState
from schemas.lifecycle import STATUS, State, advance
from schemas.open_questions import question_of
from schemas.priced_cart import MenuRef
from schemas.records.orders import OrderRecord, Outcome
from schemas.shops.webhook import ASKS, CHANGED, TAKEN, TYPES, WebhookMessage, WebhookOrder
from services.storage.base.ids import new_id
from services.storage.base.mapping import columns_of, order_of
from services.storage.base.table_base import Base
from services.storage.base.tables import EventRow, OrderRow, OutboxRow, ReviewRow, WebhookEndpointRow

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
        released = {"audio_key": None}
        columns |= released | {"utterances": tuple(one.model_copy(update=released) for one in utterances)}
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


def add_messages(session: Session, now: datetime, before: OrderRecord, order: OrderRecord) -> None:
    """Add a message about the order's new state for each endpoint of its shop that subscribes to it. The
    order's version is its sequence number."""
    if not (kinds := _kinds(before, order)):
        return
    data = WebhookOrder(
        order_id=order.id,
        shop=order.shop,
        seq=order.version,
        status=STATUS[order.state],
        menu=MenuRef(id=order.menu_id, version=order.menu_version),
        cart=order.cart,
        question=question_of(order),
        changed=list(corrections(before.cart or order.before, order.cart)),
        metadata=order.metadata,
        error=order.error,
    )
    table = WebhookEndpointRow
    query = select(table.id, table.events).where(table.shop_id == order.shop)
    for endpoint_id, events in session.execute(query.order_by(table.created_at, table.id)):
        if kind := next((kind for kind in kinds if events is None or kind in events), None):
            message = WebhookMessage(type=kind, timestamp=now, data=data)
            row = OutboxRow(
                id=new_id("msg"),
                order_id=order.id,
                endpoint_id=endpoint_id,
                seq=order.version,
                type=kind,
                payload=message.model_dump(mode="json"),
                created_at=now,
                due_at=now,
            )
            session.add(row)


def _kinds(before: OrderRecord, order: OrderRecord) -> list[str]:
    """Return the types of the message that an endpoint may subscribe to, most specific first; empty while the
    order is being processed."""
    if order.taken_at != before.taken_at:
        return [TAKEN]
    if (by_state := TYPES.get(order.state)) is None:
        return []
    if question_of(order) is not None:
        return [ASKS, by_state]
    more_was_added = order.state is State.PROPOSED and before.cart is None and order.before is not None
    return [CHANGED, by_state] if more_was_added or before.state is order.state else [by_state]
