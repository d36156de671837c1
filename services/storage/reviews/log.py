"""The append-only record of reviewers' actions.

- `claimed`, `taken_over` (from a reviewer whose lease had run out), `released`
- `asked`: the question to the customer, as the reason
- `decided`: the decision, with the carts before and after

Each is written in the transaction of its action.
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
from services.storage.base.mapping import fields_of, order_of, review_of
from services.storage.base.scoping import OfShop, of_shop
from services.storage.base.tables import OrderRow, ReviewRecordRow, ReviewRow


def record_act(session: Session, now: datetime, review_id: str, actor: str, action: str, **more: Any) -> None:
    """Append an action inside the caller's transaction, with `more` columns."""
    act = {"id": new_id("act"), "review_id": review_id, "at": now, "actor": actor, "action": action}
    session.add(ReviewRecordRow(**act, **more))


def record_decision(
    session: Session,
    now: datetime,
    review: ReviewRecord,
    reviewer: str,
    decision: ReviewDecision,
    cart: Cart | None,
    by: Actor,
) -> None:
    """Append a decision; `review` is as it was before, `cart` the order's new one. The audit log has only the
    totals: cart lines and the reason must be erasable."""
    proposed, action = review.proposed, decision.action
    act = {"decision": action, "before": proposed, "after": cart, "reason": decision.reason}
    record_act(session, now, review.id, reviewer, "decided", **act)
    about, what = ("review", review.id), {"decision": action, "reviewer": reviewer, "order": review.order_id}
    before, after = ({"total": one.total if one else None} for one in (proposed, cart))
    record(session, now, by, "review.decided", about, shop=review.shop, before=before, after=what | after)


class ReviewLog(OfShop):
    """The record of one shop's reviews."""

    def of(self, review_id: str) -> list[ReviewAct]:
        """Return all actions on a review, in order."""
        query = select(ReviewRecordRow).join(ReviewRow, ReviewRow.id == ReviewRecordRow.review_id)
        query = query.where(ReviewRecordRow.review_id == review_id, of_shop(ReviewRow, self._shop))
        with self._database.read() as session:
            rows = session.scalars(query.order_by(ReviewRecordRow.at, ReviewRecordRow.id))
            return [ReviewAct(**fields_of(row, ReviewAct)) for row in rows]

    def settled(self, *, within_s: float | None = None) -> list[Settled]:
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
