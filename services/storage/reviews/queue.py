"""The queue of reviews that wait for a person."""

from __future__ import annotations

import builtins

from sqlalchemy import String, and_, cast, func, or_, select, text, true
from sqlalchemy.orm import load_only

from schemas.records.reviews import Queue, QueueEntry, ReviewRecord
from schemas.review import ReviewReason
from schemas.shops.access import PAGE
from services.storage.base.ids import page_of, paged
from services.storage.base.mapping import review_of, unsure_pieces
from services.storage.base.scoping import OfShop, of_shop
from services.storage.base.tables import UNDECIDED, OrderRow, ReviewRow

MAX_OF_VISITOR = 500
_UNDECIDED = text(UNDECIDED)
# The columns of an order that the queue needs: parsing documents is slow.
_ENTRY = (
    *(OrderRow.transcript, OrderRow.findings, OrderRow.answer, OrderRow.decision),
    *(OrderRow.menu_id, OrderRow.audio_key),
)


class ReviewQueue(OfShop):
    """The part of the review store that lists undecided reviews."""

    def list(self, *, limit: int, cursor: str | None) -> tuple[builtins.list[ReviewRecord], str | None]:
        """Return up to `limit` undecided reviews, oldest first, and the cursor to the next page; raises
        InputError for an invalid cursor."""
        query = paged(ReviewRow, cursor, limit + 1).where(_UNDECIDED, of_shop(ReviewRow, self._shop))
        with self._database.read() as session:
            return page_of([review_of(row) for row in session.scalars(query)], limit)

    def queue(self, limit: int, show: str = "", who: str = "") -> Queue:
        """Return up to `limit` undecided reviews, those with an allergy first, then the oldest. `show`: only
        `mine` (claimed by `who`), `free` ones, or those with an `allergy`; otherwise all."""
        mine = of_shop(ReviewRow, self._shop)
        of_allergy = cast(ReviewRow.reasons, String).contains(ReviewReason.ALLERGY_SAID.value)
        oldest = (
            select(ReviewRow, OrderRow)
            .options(load_only(*_ENTRY))
            .join(OrderRow, OrderRow.id == ReviewRow.order_id)
            .where(_UNDECIDED, mine)
            .order_by(of_allergy.desc(), ReviewRow.created_at, ReviewRow.id)
            .limit(limit)
        )
        with self._database.read() as session:
            now = self._database.now(session)
            ended = or_(ReviewRow.lease_until.is_(None), ReviewRow.lease_until <= now)
            kinds = {
                "mine": and_(ReviewRow.claimed_by == who, ReviewRow.lease_until > now),
                "free": ended,
                "allergy": of_allergy,
            }
            kind = kinds.get(show, true())
            held = and_(ReviewRow.status == "claimed", ReviewRow.lease_until > now)
            numbers = (func.count(), func.count().filter(held), func.count().filter(kind))
            counted = select(*numbers).select_from(ReviewRow).where(_UNDECIDED, mine)
            waiting, of_held, of_kind = session.execute(counted).one()
            entries = [
                QueueEntry(
                    review=review_of(review),
                    words=order.transcript.text if order.transcript else "",
                    findings=order.findings,
                    unsure=unsure_pieces(order),
                    unused=order.decision.basis.unused if order.decision else (),
                    menu_id=order.menu_id,
                    spoken=order.audio_key is not None,
                )
                for review, order in session.execute(oldest.where(kind))
            ]
        return Queue(now, tuple(entries), of_kind - len(entries), waiting, of_held)

    def of_visitor(self, review_id: str, limit: int = MAX_OF_VISITOR) -> builtins.list[ReviewRecord]:
        """Return undecided reviews of orders from the same page and address as this review's, oldest first;
        none for an order that didn't come from a page."""
        with self._database.read() as session:
            review = self._one(session, ReviewRow, review_id)
            source = session.scalar(select(OrderRow.source).where(OrderRow.id == review.order_id))
            if source is None or not source.startswith(PAGE):
                return []
            query = (
                select(ReviewRow)
                .join(OrderRow, OrderRow.id == ReviewRow.order_id)
                .where(_UNDECIDED, ReviewRow.shop_id == review.shop_id, OrderRow.source == source)
                .order_by(ReviewRow.created_at, ReviewRow.id)
                .limit(limit)
            )
            return [review_of(row) for row in session.scalars(query)]
