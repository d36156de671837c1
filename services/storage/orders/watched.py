"""Queries of clients that wait for orders: one order's state, or which of many have changed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import select, text

from schemas.records.orders import OrderRecord, StoredEvent
from schemas.records.reviews import ReviewRecord
from services.storage.base.mapping import event_of, order_of, review_of
from services.storage.base.scoping import OfAllShops
from services.storage.base.tables import EventRow, OrderRow, ReviewRow

Versions = tuple[int, int]
"""Versions of an order and of its review, 0 without one. They never decrease."""

MAX_SEQ = 2**31 - 1
UNSEEN: Versions = (0, 0)
BEHIND: Versions = (-1, -1)
"""The versions of a client that hasn't looked yet, older than `UNSEEN`."""

_NEWER = text(
    "SELECT o.id, o.version, COALESCE(r.version, 0) FROM json_each(:seen) AS s "
    "JOIN orders AS o ON o.id = s.key LEFT JOIN reviews AS r ON r.order_id = o.id "
    "WHERE o.version > CAST(s.value ->> 0 AS INTEGER) "
    "OR COALESCE(r.version, 0) > CAST(s.value ->> 1 AS INTEGER)"
)


@dataclass(frozen=True, slots=True)
class Look:
    """An order with its review, if any, at one moment."""

    order: OrderRecord
    review: ReviewRecord | None

    @property
    def versions(self) -> Versions:
        return self.order.version, self.review.version if self.review else 0


class WatchedStore(OfAllShops):
    """Every call is one read, and may raise StorageUnavailable."""

    def newer(self, seen: Mapping[str, Versions]) -> dict[str, Versions]:
        """Return the versions of those orders that have changed since they were `seen`."""
        with self._database.read() as session:
            rows = session.execute(_NEWER, {"seen": json.dumps(seen)})
            return {order_id: (order, review) for order_id, order, review in rows}

    def look(self, order_id: str) -> Look | None:
        """Return an order with its review; None for an unknown order."""
        query = select(OrderRow, ReviewRow).outerjoin(ReviewRow, ReviewRow.order_id == OrderRow.id)
        with self._database.read() as session:
            row = session.execute(query.where(OrderRow.id == order_id)).one_or_none()
        if row is None:
            return None
        order, review = row
        return Look(order_of(order), review_of(review) if review else None)

    def happened(self, order_id: str, after: int) -> list[StoredEvent]:
        """Return an order's events with a greater number than `after`; empty for an unknown order."""
        rows = select(EventRow).where(EventRow.order_id == order_id, EventRow.seq > min(after, MAX_SEQ))
        with self._database.read() as session:
            return [event_of(row) for row in session.scalars(rows.order_by(EventRow.seq))]
