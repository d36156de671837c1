"""What reviewers did: who, when, before, after, why. Rows are added and never changed or removed.

| action | says | before, after |
|---|---|---|
| `claimed`, `taken_over`, `released` | who held it; `taken_over` names from whom, whose lease had run out | |
| `asked` | what the customer was asked, as the reason | |
| `decided` | the decision that settled the order | both |

A decision is written in the transaction that makes it, so there is none without its record. The audit log
says that it was made.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from schemas.priced_cart import Cart
from schemas.records.reviews import ReviewAct, ReviewRecord, Settled
from schemas.review import ReviewDecision
from schemas.shops.audit import Actor
from services.storage.audit.log import record
from services.storage.base.ids import new_id
from services.storage.base.mapping import alike, order_of, review_of
from services.storage.base.scoping import OfShop, of_shop
from services.storage.base.tables import OrderRow, ReviewRecordRow, ReviewRow


def record_act(
    session: Session,
    now: datetime,
    review_id: str,
    actor: str,
    action: str,
    *,
    before: Cart | None = None,
    after: Cart | None = None,
    reason: str | None = None,
    detail: dict[str, Any] | None = None,
) -> None:
    """Append one act inside the caller's transaction."""
    row = ReviewRecordRow(
        id=new_id("act"),
        review_id=review_id,
        at=now,
        actor=actor,
        action=action,
        before=before,
        after=after,
        reason=reason,
        detail=detail or {},
    )
    session.add(row)


def record_decision(
    session: Session,
    now: datetime,
    review: ReviewRecord,
    reviewer: str,
    decision: ReviewDecision,
    cart: Cart | None,
    by: Actor,
) -> None:
    """Append a decision, which left the order with `cart`; `review` is as it was before.

    The audit log has only totals, in minor units. Neither lines nor the reason are in it: they are the
    customer's, and have to go when the order is erased.
    """
    proposed, action = review.proposed, decision.action
    detail = {"action": action, "version": review.version}
    carts = {"before": proposed, "after": cart}
    record_act(session, now, review.id, reviewer, "decided", **carts, reason=decision.reason, detail=detail)
    about, made = ("review", review.id), {"decision": action, "reviewer": reviewer, "order": review.order_id}
    before, after = ({"total": one.total if one else None} for one in (proposed, cart))
    record(session, now, by, "review.decided", about, shop=review.shop, before=before, after=made | after)


class ReviewLog(OfShop):
    """What was done with one shop's reviews."""

    def of(self, review_id: str) -> list[ReviewAct]:
        """Everything that was done with one review, in order."""
        query = select(ReviewRecordRow).join(ReviewRow, ReviewRow.id == ReviewRecordRow.review_id)
        query = query.where(ReviewRecordRow.review_id == review_id, of_shop(ReviewRow, self._shop))
        with self._database.read() as session:
            rows = session.scalars(query.order_by(ReviewRecordRow.at, ReviewRecordRow.id))
            return [ReviewAct(**alike(row, ReviewAct)) for row in rows]

    def settled(self, *, within_s: float | None = None) -> list[Settled]:
        """Reviews that were decided, latest first: those of the last `within_s` seconds, or all."""
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
