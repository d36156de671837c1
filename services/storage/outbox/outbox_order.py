"""Which message of an order may go: the first to its endpoint that is neither delivered nor dead.

`due_at` is when a message may go: once its wait or its lease is over, or that of the one before it. So a
claim finds what is due by an index, and passes by what waits.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, func, select
from sqlalchemy.orm import aliased

from services.storage.base.tables import OutboxRow

IS_OPEN = and_(OutboxRow.delivered_at.is_(None), OutboxRow.dead_at.is_(None))
IS_DEAD = OutboxRow.dead_at.is_not(None)


def is_open_of_order(row: Any = OutboxRow) -> ColumnElement[bool]:
    # The same rows as `IS_OPEN`, in words that the index by order alone serves: PostgreSQL may guess that
    # nothing is open, and then takes all indexes of what is for equally good.
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
    here = OutboxRow.endpoint_id == endpoint_id
    query = select(OutboxRow.id).where(here, IS_OPEN, OutboxRow.due_at <= now, is_first())
    return query.order_by(OutboxRow.due_at, OutboxRow.id)
