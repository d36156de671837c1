"""Which reviews wait for a person, and in which order."""

from __future__ import annotations

import builtins
from datetime import datetime

from sqlalchemy import ColumnElement, and_, func, or_, select, text
from sqlalchemy.orm import load_only

from schemas.records.reviews import Queue, QueueEntry, ReviewRecord
from schemas.shops.access import PAGE
from services.storage.base.ids import page_of, paged
from services.storage.base.mapping import review_of, unsure_of
from services.storage.base.scoping import OfShop, of_shop
from services.storage.base.tables import UNDECIDED, OrderRow, ReviewRow

# Of one visitor that are looked at together: many times what an address may have waiting.
MOST_OF_VISITOR = 500
# As text, as the index of what waits has it.
_UNDECIDED = text(UNDECIDED)
# Of an order: each document more would be read and checked.
_ENTRY = (OrderRow.transcript, OrderRow.findings, OrderRow.answer, OrderRow.menu_id, OrderRow.audio_key)


class ReviewQueue(OfShop):
    """The part of the review store that lists what waits."""

    def list(self, *, limit: int, cursor: str | None) -> tuple[builtins.list[ReviewRecord], str | None]:
        """Up to `limit` undecided reviews, longest waiting first, and the cursor to the next page.

        Raises:
            InputError: not a cursor of ours.
        """
        query = paged(ReviewRow, cursor, limit + 1).where(_UNDECIDED, of_shop(ReviewRow, self._shop))
        with self._database.read() as session:
            return page_of([review_of(row) for row in session.scalars(query)], limit)

    def queue(self, limit: int) -> Queue:
        """The `limit` reviews that wait longest, held ones too, longest waiting first."""
        mine = of_shop(ReviewRow, self._shop)
        oldest = (
            select(ReviewRow, OrderRow)
            .options(load_only(*_ENTRY))
            .join(OrderRow, OrderRow.id == ReviewRow.order_id)
            .where(_UNDECIDED, mine)
            .order_by(ReviewRow.created_at, ReviewRow.id)
            .limit(limit)
        )
        with self._database.read() as session:
            now = self._database.now(session)
            waiting = session.scalar(select(func.count()).select_from(ReviewRow).where(_UNDECIDED, mine)) or 0
            free = session.scalar(select(func.count()).select_from(ReviewRow).where(_free(now), mine)) or 0
            entries = [
                QueueEntry(
                    review=review_of(review),
                    words=order.transcript.text if order.transcript else "",
                    findings=order.findings,
                    unsure=unsure_of(order),
                    menu_id=order.menu_id,
                    spoken=order.audio_key is not None,
                )
                for review, order in session.execute(oldest)
            ]
        return Queue(now, tuple(entries), waiting, waiting - free)

    def of_visitor(self, review_id: str, limit: int = MOST_OF_VISITOR) -> builtins.list[ReviewRecord]:
        """Undecided reviews of the orders that came from the same address to the same page as this review's,
        longest waiting first; none for an order that came from no page. Held ones too."""
        with self._database.read() as session:
            seen = self._one(session, ReviewRow, review_id)
            source = session.scalar(select(OrderRow.source).where(OrderRow.id == seen.order_id))
            if source is None or not source.startswith(PAGE):
                return []
            query = (
                select(ReviewRow)
                .join(OrderRow, OrderRow.id == ReviewRow.order_id)
                .where(_UNDECIDED, ReviewRow.shop_id == seen.shop_id, OrderRow.source == source)
                .order_by(ReviewRow.created_at, ReviewRow.id)
                .limit(limit)
            )
            return [review_of(row) for row in session.scalars(query)]


def _free(now: datetime) -> ColumnElement[bool]:
    """It is free: open, or claimed under a lease that has run out."""
    return and_(_UNDECIDED, or_(ReviewRow.status == "open", ReviewRow.lease_until <= now))
