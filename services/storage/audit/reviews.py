"""What the audit log says of a review: who decided what it was worth."""

from __future__ import annotations

from sqlalchemy.orm import Session

from schemas.records.reviews import ReviewRecord
from schemas.shops.audit import Actor
from services.storage.audit.log import record
from services.storage.base.tables import ReviewRecordRow


def told_decision(session: Session, review: ReviewRecord, kept: ReviewRecordRow, by: Actor) -> None:
    """One entry for the record `kept` of a decision; `review` is as it was before. Totals are in minor units.

    Neither lines nor the reason are in it: they are the customer's, and have to go when the order is erased.
    """
    before = {"total": _total(kept.before)}
    after = {
        "decision": kept.detail["action"],
        "reviewer": kept.actor,
        "order": review.order_id,
        "total": _total(kept.after),
    }
    action, about = f"review.{kept.action}", ("review", review.id)
    record(session, kept.at, by, action, about, shop=review.shop, before=before, after=after)


def _total(cart: dict[str, object] | None) -> object:
    return None if cart is None else cart["total"]
