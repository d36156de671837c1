"""What the audit log says of a staff account, and of a review: who decided what it was worth."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy.orm import Session

from schemas.records.reviews import ReviewRecord
from schemas.shops.audit import UNKNOWN, Actor
from services.storage.audit.log import record
from services.storage.base.tables import ReviewRecordRow
from services.storage.base.tables_staff import StaffRow


def record_account(
    session: Session,
    now: datetime,
    by: Actor | None,
    action: str,
    account: StaffRow,
    before: Mapping[str, object] | None = None,
    after: Mapping[str, object] | None = None,
) -> None:
    """One entry for what was done to the account; of a password it says only that it was set."""
    session.flush()
    about = ("account", account.name)
    record(session, now, by or UNKNOWN, action, about, shop=account.shop_id, before=before, after=after)


def record_decision(session: Session, review: ReviewRecord, kept: ReviewRecordRow, by: Actor) -> None:
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
