"""Sending an order through again that has ended in an error, or that a fault of ours put before a human.

The history stays: a replay is one more event in it. What the machine made of the order is cleared, so that
nothing of the first run is taken for a result of the second.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, and_, not_, or_, select, text
from sqlalchemy.orm import Session

from schemas.errors import Conflict
from schemas.lifecycle import REPLAYABLE, STATUS, Event, State
from schemas.order import SAY_IT_AGAIN
from schemas.records.orders import OrderRecord
from schemas.review import ReviewReason
from services.storage.base.changes import move, withdraw_review
from services.storage.base.mapping import order_of
from services.storage.base.tables import MAY_GO_ON, UNDECIDED, OrderRow, ReviewRow

_CLEARED: dict[str, Any] = {
    "draft": None, "cart": None, "findings": [], "reasons": [], "error": None
}  # fmt: skip


def replay(session: Session, now: datetime, row: OrderRow) -> OrderRecord:
    """Move a locked order back to where its transcript, or else its recording, is worked on.

    Raises:
        Conflict: it is neither failed nor in review, or a reviewer holds it, or there is nothing to hear.
    """
    order = order_of(row)
    if order.state not in REPLAYABLE:
        raise Conflict(
            f"Order {order.id} is {STATUS[order.state]}",
            hint="Only an order in error or in review can be replayed.",
        )
    if session.scalars(select(ReviewRow.id).where(ReviewRow.order_id == order.id, _held(now))).first():
        raise Conflict(
            f"A reviewer has claimed order {order.id}", hint="Wait until it is decided or released."
        )
    if order.erased_at is not None:
        raise Conflict(
            f"The transcript of order {order.id} was erased", hint="Ask the customer to order again."
        )
    heard = order.transcript is not None and order.transcript.text.strip()
    if not heard and order.spoken and order.audio_key is None:
        raise Conflict(
            f"The recording of order {order.id} was refused and deleted",
            hint="Ask the customer to order again.",
        )
    withdraw_review(session, order.id)
    if heard or order.audio_key is None:
        return move(session, now, order, Event.REPLAYED, _CLEARED, tells=frozenset())
    columns = _CLEARED | {"transcript": None}
    return move(session, now, order, Event.REPLAYED_FROM_AUDIO, columns, tells=frozenset())


def failed(session: Session, after: datetime | None) -> list[str]:
    """Ids of orders that ended in an error, since `after` where it is given."""
    query = select(OrderRow.id).where(text(MAY_GO_ON), OrderRow.state == State.FAILED.value)
    if after is not None:
        query = query.where(OrderRow.updated_at >= after)
    return list(session.scalars(query.order_by(OrderRow.updated_at, OrderRow.id)))


def doubted(session: Session, now: datetime, reason: ReviewReason) -> list[str]:
    """Ids of orders whose open review gives `reason`."""
    query = (
        select(ReviewRow.order_id, ReviewRow.reasons)
        .where(text(UNDECIDED), not_(_held(now)))
        .order_by(ReviewRow.created_at, ReviewRow.id)
    )
    return [order_id for order_id, reasons in session.execute(query) if reason.value in reasons]


def _held(now: datetime) -> ColumnElement[bool]:
    """Somebody is at it now, or has decided and waits for a second to agree."""
    claimed = and_(ReviewRow.status == "claimed", ReviewRow.lease_until > now)
    return or_(claimed, and_(ReviewRow.status.in_(["open", "claimed"]), ReviewRow.standing.is_not(None)))


def sent_back(session: Session, since: ColumnElement[datetime], order: OrderRecord) -> int:
    """How often the client of an order was asked to say it again since then."""
    client = select(OrderRow.client).where(OrderRow.id == order.id).scalar_subquery()
    errors = session.scalars(
        select(OrderRow.error).where(
            OrderRow.state == State.FAILED.value,
            OrderRow.updated_at >= since,
            OrderRow.shop_id == order.shop,
            OrderRow.client == client,
        )
    )
    return sum(error is not None and error.get("code") == SAY_IT_AGAIN for error in errors)
