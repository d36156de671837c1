"""Which reviews wait for a person, and in which order."""

from __future__ import annotations

import builtins

from sqlalchemy import ColumnElement, Select, String, and_, cast, func, or_, select, text, true
from sqlalchemy.orm import load_only

from schemas.records.reviews import Queue, QueueEntry, ReviewRecord
from schemas.review import ReviewReason
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
_ENTRY = (
    *(OrderRow.transcript, OrderRow.findings, OrderRow.answer, OrderRow.decision),
    *(OrderRow.menu_id, OrderRow.audio_key),
)


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

    def queue(self, limit: int, show: str = "", who: str = "") -> Queue:
        """The first `limit` reviews that wait: those with an allergy, then the longest waiting. `show`: only
        `mine` (that `who` has), `free` ones that wait for a reviewer alone, or those with an `allergy`; else
        held ones too."""
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
            of_kind = session.scalar(_count(mine, kind)) or 0
            waiting = session.scalar(_count(mine)) or 0
            free = session.scalar(_count(mine, or_(ReviewRow.status == "open", ended))) or 0
            entries = [
                QueueEntry(
                    review=review_of(review),
                    words=order.transcript.text if order.transcript else "",
                    findings=order.findings,
                    unsure=unsure_of(order),
                    unused=order.decision.basis.unused if order.decision else (),
                    menu_id=order.menu_id,
                    spoken=order.audio_key is not None,
                )
                for review, order in session.execute(oldest.where(kind))
            ]
        return Queue(now, tuple(entries), of_kind - len(entries), waiting, waiting - free)

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


def _count(*conditions: ColumnElement[bool]) -> Select[int]:
    return select(func.count()).select_from(ReviewRow).where(_UNDECIDED, *conditions)
