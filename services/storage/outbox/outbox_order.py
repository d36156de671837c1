"""Which message of an order may go: the first to its endpoint that is neither delivered nor dead.

`due_at` says when a message is to be looked at next: once its wait or its lease is over. Only the first open
message of an order to an endpoint has one, so that a claim finds what is due by an index, and passes by
neither what waits nor what stands behind another. Whoever closes or opens a message hands `due_at` on here.

A `due_at` too many costs a look: a claim asks again for lease, wait and place. One too few would hold a
message for ever: `tell` holds the order's first message while it looks, so that it is not closed meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Select,
    and_,
    case,
    func,
    literal,
    null,
    or_,
    select,
    update,
)
from sqlalchemy.orm import Session, aliased

from infra.sql.database import UtcDateTime
from services.storage.base.tables import OutboxRow
from services.storage.base.tables_webhooks import WebhookEndpointRow

OWN_URL = ""
"""In place of an endpoint's id: the URL of the deployment's settings."""

CHUNK = 1000
_QUIETLY = {"synchronize_session": False}
# When a message that is open is due, whatever happened to it.
_DUE = func.coalesce(OutboxRow.lease_until, OutboxRow.next_attempt_at, OutboxRow.created_at)


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
    """Ids of the endpoints to which something may be due: one look into the index for each that there is.
    The empty one is the deployment's own URL."""
    waits = select(OutboxRow.id).where(is_open(), OutboxRow.due_at <= now)
    own = select(literal(OWN_URL)).where(waits.where(OutboxRow.endpoint_id == OWN_URL).exists())
    endpoints = select(WebhookEndpointRow.id).where(
        WebhookEndpointRow.disabled_at.is_(None),
        waits.where(OutboxRow.endpoint_id == WebhookEndpointRow.id).correlate(WebhookEndpointRow).exists(),
    )
    return select(own.union_all(endpoints).subquery())


def due_when_added(order_id: str, endpoint_id: str, now: datetime) -> ColumnElement[datetime | None]:
    """`due_at` of an order's new last message to an endpoint, for the statement that stores it."""
    other = aliased(OutboxRow)
    first = select(other.id).where(
        other.order_id == order_id, other.endpoint_id == endpoint_id, is_open_of_order(other)
    )
    # Held to the end on PostgreSQL: whoever closes it sees the new message, or has closed it by now.
    waits_for = (
        first.order_by(other.seq).limit(1).with_for_update(read=True).correlate(None).scalar_subquery()
    )
    return case((waits_for.is_(None), literal(now, UtcDateTime)), else_=null())


def hand_on(session: Session, closed: OutboxRow) -> None:
    """Let the message behind one that was closed in this transaction go."""
    other = aliased(OutboxRow)
    behind = select(other.id).where(
        other.order_id == closed.order_id,
        other.endpoint_id == closed.endpoint_id,
        other.seq > closed.seq,
        is_open_of_order(other),
    )
    following = behind.order_by(other.seq).limit(1).scalar_subquery()
    statement = update(OutboxRow).where(OutboxRow.id == following, OutboxRow.due_at.is_(None))
    session.execute(statement.values(due_at=_DUE), execution_options=_QUIETLY)


def line_up(session: Session, order_ids: Sequence[str]) -> None:
    """Put the open messages of these orders in their order again, after some were opened."""
    other = aliased(OutboxRow)
    in_front = select(other.id).where(
        other.order_id == OutboxRow.order_id,
        other.endpoint_id == OutboxRow.endpoint_id,
        other.seq < OutboxRow.seq,
        is_open_of_order(other),
    )
    for start in range(0, len(order_ids), CHUNK):
        mine = update(OutboxRow).where(OutboxRow.order_id.in_(order_ids[start : start + CHUNK]), is_open())
        session.execute(mine.values(due_at=_DUE), execution_options=_QUIETLY)
        behind = mine.where(in_front.correlate(OutboxRow).exists())
        session.execute(behind.values(due_at=null()), execution_options=_QUIETLY)
