"""Which message of an order may go: the first to its endpoint that is neither delivered nor dead.

`due_at` says when a message is to be looked at next: once its wait or its lease is over, or that of the one
before it. So a claim finds what is due by an index, and passes by what waits. A `due_at` too early costs a
look: a claim asks again for lease, wait and place.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Select,
    and_,
    func,
    or_,
    select,
    update,
)
from sqlalchemy.orm import Session, aliased

from services.storage.base.tables import OutboxRow
from services.storage.base.tables_webhooks import WebhookEndpointRow


def is_open(row: Any = OutboxRow) -> ColumnElement[bool]:
    return and_(row.delivered_at.is_(None), row.dead_at.is_(None))


def is_dead() -> ColumnElement[bool]:
    return OutboxRow.dead_at.is_not(None)


def is_open_of_order(row: Any = OutboxRow) -> ColumnElement[bool]:
    # The same rows as `is_open`, in the words of the index by order.
    return func.coalesce(row.delivered_at, row.dead_at).is_(None)


def is_first() -> ColumnElement[bool]:
    """No earlier message of its order is open. As a value and not as NOT EXISTS: PostgreSQL would turn that
    into a join, and may plan it over all that is open."""
    other = aliased(OutboxRow)
    first = select(other.seq).where(
        other.order_id == OutboxRow.order_id,
        other.endpoint_id == OutboxRow.endpoint_id,
        is_open_of_order(other),
    )
    return OutboxRow.seq == first.order_by(other.seq).limit(1).correlate(OutboxRow).scalar_subquery()


def due(now: datetime, endpoint_id: str) -> Select[Any]:
    """Ids of the messages to one endpoint that may go now, longest due first."""
    return (
        select(OutboxRow.id)
        .where(
            OutboxRow.endpoint_id == endpoint_id,
            is_open(),
            OutboxRow.due_at <= now,
            or_(OutboxRow.lease_until.is_(None), OutboxRow.lease_until <= now),
            or_(OutboxRow.next_attempt_at.is_(None), OutboxRow.next_attempt_at <= now),
            is_first(),
        )
        .order_by(OutboxRow.due_at, OutboxRow.id)
    )


def endpoints_due(now: datetime) -> Select[Any]:
    """Ids of the endpoints to which something may be due: one look into the index for each that there is."""
    waits = select(OutboxRow.id).where(is_open(), OutboxRow.due_at <= now)
    mine = waits.where(OutboxRow.endpoint_id == WebhookEndpointRow.id).correlate(WebhookEndpointRow)
    return select(WebhookEndpointRow.id).where(mine.exists())


def call_behind(session: Session, message: OutboxRow, due_at: datetime) -> None:
    """Have what stands behind a message looked at when the message is, or at once where that was closed."""
    behind = update(OutboxRow).where(
        OutboxRow.order_id == message.order_id,
        OutboxRow.endpoint_id == message.endpoint_id,
        OutboxRow.seq > message.seq,
        is_open_of_order(),
    )
    session.execute(behind.values(due_at=due_at), execution_options={"synchronize_session": False})
