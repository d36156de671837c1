"""Replays of orders that ended in an error, or that a fault sent to review.

A replay is one more event in the history. Earlier results are cleared, so that they aren't mistaken for the
new run's.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, and_, not_, select, text
from sqlalchemy.orm import Session

from schemas.errors import Conflict
from schemas.lifecycle import REPLAYABLE, STATUS, Event, State
from schemas.order import SAY_IT_AGAIN
from schemas.records.orders import OrderRecord, Outcome, StoredUtterance
from schemas.review import ReviewReason
from services.storage.base.changes import move, withdraw_review, writing
from services.storage.base.mapping import order_of
from services.storage.base.scoping import OfShop
from services.storage.base.tables import MAY_GO_ON, UNDECIDED, OrderRow, ReviewRow

CLEARED: dict[str, Any] = {
    "draft": None, "cart": None, "findings": (), "reasons": (), "error": None
}  # fmt: skip


class Replays(OfShop):
    """The part of the order store for orders that went wrong."""

    def replay(self, order_id: str) -> OrderRecord:
        """Process an order that failed or is in review again, from its transcript or otherwise its recording.

        Raises:
            Conflict: it is in another state, a reviewer holds it, or neither input is left.
        """
        with writing(self._database) as (session, now):
            order = order_of(self._one(session, OrderRow, order_id, hold=True))
            if order.state not in REPLAYABLE:
                raise Conflict(
                    f"Order {order.id} is {STATUS[order.state]}",
                    hint="Only an order in error or in review can be replayed.",
                )
            check_unclaimed(session, now, order.id)
            event = _where_to(order)
            withdraw_review(session, order.id)
            columns = CLEARED | {"confirm": order.needs_yes}
            if event is Event.REPLAYED_FROM_AUDIO:
                columns |= {"transcript": None, "utterances": _untranscribed(order)}
            return move(session, now, order, Outcome(event), **columns)

    def failed(self, since_s: float | None = None) -> list[str]:
        """List orders in their error state, all or those of the last `since_s` seconds; oldest first."""
        query = select(OrderRow.id).where(text(MAY_GO_ON), OrderRow.state == State.FAILED.value)
        with self._database.read() as session:
            if since_s is not None:
                after = self._database.now(session) - timedelta(seconds=since_s)
                query = query.where(OrderRow.updated_at >= after)
            return list(session.scalars(query.order_by(OrderRow.updated_at, OrderRow.id)))

    def doubted(self, reason: ReviewReason) -> list[str]:
        """List orders in review for `reason` that no reviewer holds; oldest first."""
        query = select(ReviewRow.order_id, ReviewRow.reasons).order_by(ReviewRow.created_at, ReviewRow.id)
        with self._database.read() as session:
            free = not_(_reviewer_holds(self._database.now(session)))
            rows = session.execute(query.where(text(UNDECIDED), free))
            return [order_id for order_id, reasons in rows if reason.value in reasons]

    def times_asked_again(self, order: OrderRecord) -> int:
        """Count how often the order's client was asked to repeat an order in the last hour."""
        client = select(OrderRow.client).where(OrderRow.id == order.id).scalar_subquery()
        query = select(OrderRow.error).where(
            OrderRow.state == State.FAILED.value,
            OrderRow.updated_at >= self._database.clock(3600),
            OrderRow.shop_id == order.shop,
            OrderRow.client == client,
        )
        with self._database.read() as session:
            errors = session.scalars(query)
            return sum(error is not None and error.code == SAY_IT_AGAIN for error in errors)


def _untranscribed(order: OrderRecord) -> tuple[StoredUtterance, ...]:
    """Return the order's utterances without the transcripts of recordings."""
    without = {"transcript": None}
    return tuple(one.model_copy(update=without if one.audio_key else {}) for one in order.utterances)


def _where_to(order: OrderRecord) -> Event:
    """Return the event by which the order is replayed; raises Conflict if no input is left."""
    if order.transcript is not None and order.transcript.text.strip():
        return Event.REPLAYED
    if order.audio_key is not None:
        return Event.REPLAYED_FROM_AUDIO
    if order.spoken or order.erased_at is not None:
        raise Conflict(f"Order {order.id} has no words left", hint="Ask the customer to order again.")
    return Event.REPLAYED


def check_unclaimed(session: Session, now: datetime, order_id: str) -> None:
    """Raise Conflict while a reviewer holds the order's review."""
    held = select(ReviewRow.id).where(ReviewRow.order_id == order_id, _reviewer_holds(now))
    if session.scalars(held).first() is not None:
        raise Conflict(
            f"A reviewer has claimed order {order_id}",
            hint="Wait for the reviewer's decision.",
            title="A reviewer has this order",
        )


def _reviewer_holds(now: datetime) -> ColumnElement[bool]:
    """Return the condition that a reviewer holds a review."""
    return and_(ReviewRow.status == "claimed", ReviewRow.lease_until > now)
