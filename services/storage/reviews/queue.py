"""Reading reviews: the queue of those that wait for a person, reviewers' actions, settled reviews."""

from __future__ import annotations

import builtins
from datetime import timedelta

from sqlalchemy import String, and_, cast, func, or_, select, text, true
from sqlalchemy.orm import load_only

from schemas.records.reviews import Queue, QueueEntry, ReviewAct, ReviewRecord, Settled
from schemas.review import ReviewReason
from schemas.shops.access import PAGE
from services.storage.base.ids import page_of, paged
from services.storage.base.mapping import fields_of, order_of, review_of, unsure_pieces
from services.storage.base.scoping import OfShop, of_shop
from services.storage.base.tables import UNDECIDED, OrderRow, ReviewRecordRow, ReviewRow

MAX_OF_VISITOR = 500
_UNDECIDED = text(UNDECIDED)
# The columns of an order that the queue needs: parsing documents is slow.
_ENTRY = OrderRow.transcript, OrderRow.findings, OrderRow.answer, OrderRow.decision
_ALLERGY = f'"{ReviewReason.ALLERGY_SAID.value}"'  # as JSON, so not within a customer's words


class ReviewQueue(OfShop):
    """The part of the review store that reads."""

    def get(self, review_id: str) -> ReviewRecord:
        """Return a review."""
        with self._database.read() as session:
            return review_of(self._one(session, ReviewRow, review_id))

    def by_order(self, order_id: str) -> ReviewRecord | None:
        """Return the review of an order, if it has one."""
        with self._database.read() as session:
            query = select(ReviewRow).where(ReviewRow.order_id == order_id, of_shop(ReviewRow, self._shop))
            row = session.scalars(query).one_or_none()
            return None if row is None else review_of(row)

    def list(self, *, limit: int, cursor: str | None) -> tuple[builtins.list[ReviewRecord], str | None]:
        """Return up to `limit` undecided reviews, oldest first, and the cursor to the next page; raises
        InputError for an invalid cursor."""
        query = paged(ReviewRow, cursor, limit + 1).where(_UNDECIDED, of_shop(ReviewRow, self._shop))
        with self._database.read() as session:
            return page_of([review_of(row) for row in session.scalars(query)], limit)

    def queue(self, limit: int, show: str = "", who: str = "") -> Queue:
        """Return up to `limit` undecided reviews, the oldest first, after those with an allergy, even if the
        shop accepts it. `show`: only `mine` (claimed by `who`), `free` ones, or those with an `allergy`;
        otherwise all."""
        mine = of_shop(ReviewRow, self._shop)
        documents = ReviewRow.reasons, OrderRow.findings
        of_allergy = or_(*(cast(document, String).contains(_ALLERGY) for document in documents))
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
            kinds = {
                "mine": and_(ReviewRow.claimed_by == who, ReviewRow.lease_until > now),
                "free": or_(ReviewRow.lease_until.is_(None), ReviewRow.lease_until <= now),
                "allergy": of_allergy,
            }
            kind = kinds.get(show, true())
            held = and_(ReviewRow.status == "claimed", ReviewRow.lease_until > now)
            numbers = (func.count(), func.count().filter(held), func.count().filter(kind))
            counted = select(*numbers).select_from(ReviewRow).where(_UNDECIDED, mine)
            if kind is of_allergy:
                counted = counted.join(OrderRow)
            waiting, of_held, of_kind = session.execute(counted).one()
            entries = [
                QueueEntry(
                    review=review_of(review),
                    words=order.transcript.text if order.transcript else "",
                    findings=order.findings,
                    unsure=unsure_pieces(order),
                    unused=order.decision.basis.unused if order.decision else (),
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

    def acts(self, review_id: str) -> builtins.list[ReviewAct]:
        """Return all actions on a review, in order."""
        query = select(ReviewRecordRow).join(ReviewRow, ReviewRow.id == ReviewRecordRow.review_id)
        query = query.where(ReviewRecordRow.review_id == review_id, of_shop(ReviewRow, self._shop))
        with self._database.read() as session:
            rows = session.scalars(query.order_by(ReviewRecordRow.at, ReviewRecordRow.id))
            return [ReviewAct(**fields_of(row, ReviewAct)) for row in rows]

    def settled(self, *, within_s: float | None = None) -> builtins.list[Settled]:
        """Return decided reviews, latest first: all, or those of the last `within_s` seconds."""
        query = (
            select(ReviewRow, OrderRow, ReviewRecordRow)
            .join(OrderRow, OrderRow.id == ReviewRow.order_id)
            .join(ReviewRecordRow, ReviewRecordRow.review_id == ReviewRow.id)
            .where(ReviewRecordRow.action == "decided", of_shop(ReviewRow, self._shop))
            .order_by(ReviewRecordRow.at.desc(), ReviewRecordRow.id.desc())
        )
        with self._database.read() as session:
            if within_s is not None:
                since = self._database.now(session) - timedelta(seconds=within_s)
                query = query.where(ReviewRecordRow.at >= since)
            return [
                Settled(review_of(review), order_of(order), act.after)
                for review, order, act in session.execute(query)
            ]
