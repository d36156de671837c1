"""What a shop's reviewers decided lately, counted from their records."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from statistics import median

from sqlalchemy import ColumnElement, select, text
from sqlalchemy.orm import Session

from infra.sql.database import Database
from schemas.compare import corrections
from schemas.records.reviews import Decided
from services.storage.base.scoping import database_of, of_shop
from services.storage.base.tables import DECIDED, ReviewRecordRow, ReviewRow

MOST_CORRECTIONS = 300
"""Of which carts are compared, the newest."""


def decided(database: Database, shop: str, days: int) -> Decided:
    """Count what a shop decided in the last `days`.

    Raises:
        StorageUnavailable: see there.
    """
    with database_of(database, shop).read() as session:
        since = database.now(session) - timedelta(days=days)
        lately = text(DECIDED) & (ReviewRecordRow.at >= since) & of_shop(ReviewRow, shop)
        query = (
            select(ReviewRecordRow.at, ReviewRecordRow.actor, ReviewRow.decision, ReviewRow.created_at)
            .join(ReviewRow, ReviewRow.id == ReviewRecordRow.review_id)
            .where(lately)
        )
        rows, changes = session.execute(query).all(), _changes(session, lately)
    waits_s = [max(0.0, (row.at - row.created_at).total_seconds()) for row in rows]
    return Decided(
        actions=Counter(row.decision for row in rows),
        people=Counter(row.actor for row in rows),
        wait_s=median(waits_s) if waits_s else None,
        changes=changes,
    )


def _changes(session: Session, lately: ColumnElement[bool]) -> Counter[str]:
    """What the newest corrections changed, in words."""
    query = (
        select(ReviewRecordRow.before, ReviewRecordRow.after)
        .join(ReviewRow, ReviewRow.id == ReviewRecordRow.review_id)
        .where(lately, ReviewRow.decision == "correct")
        .order_by(ReviewRecordRow.at.desc())
        .limit(MOST_CORRECTIONS)
    )
    found = Counter[str]()
    for old, new in session.execute(query):
        found.update(corrections(old, new))
    return found
