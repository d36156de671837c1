"""What the audit log says of a review: who decided what it was worth."""

from __future__ import annotations

from sqlalchemy.orm import Session

from infra.sql.database import Database
from schemas.records.reviews import ReviewRecord
from schemas.shops.audit import Actor
from services.storage.audit.log import record
from services.storage.base.tables import ReviewRecordRow


def told_decision(
    database: Database, session: Session, review: ReviewRecord, kept: ReviewRecordRow, by: Actor
) -> None:
    """One entry for the record `kept` of a decision; `review` is as it was before. Totals are in minor units.

    Neither lines nor the reason are in it: they are the customer's, and have to go when the order is erased.
    """
    record(
        database,
        session,
        kept.at,
        shop=review.shop,
        by=by,
        action=f"review.{kept.action}",
        about=("review", review.id),
        before={"total": _total(kept.before)},
        after={
            "decision": kept.detail["action"],
            "reviewer": kept.actor,
            "order": review.order_id,
            "total": _total(kept.after),
        },
    )


def _total(cart: dict[str, object] | None) -> object:
    return None if cart is None else cart["total"]
