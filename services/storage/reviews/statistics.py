"""Statistics of a shop's recent review decisions."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from statistics import median

from sqlalchemy import ColumnElement, select, text
from sqlalchemy.orm import Session

from infra.sql.database import Database
from schemas.compare import corrections
from schemas.records.reviews import ReviewStatistics
from services.storage.base.scoping import database_of, of_shop
from services.storage.base.tables import DECIDED, ReviewRecordRow, ReviewRow

MAX_CORRECTIONS = 300
"""How many of the newest corrections are compared."""


def decided(database: Database, shop: str, days: int) -> ReviewStatistics:
    """Count a shop's decisions of the last `days`; may raise StorageUnavailable."""
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
    return ReviewStatistics(
        actions=Counter(row.decision for row in rows),
        people=Counter(row.actor for row in rows),
        wait_s=median(waits_s) if waits_s else None,
        changes=changes,
    )


def _changes(session: Session, lately: ColumnElement[bool]) -> Counter[str]:
    """Count what the newest corrections changed, in words."""
    query = (
        select(ReviewRecordRow.before, ReviewRecordRow.after)
        .join(ReviewRow, ReviewRow.id == ReviewRecordRow.review_id)
        .where(lately, ReviewRow.decision == "correct")
        .order_by(ReviewRecordRow.at.desc())
        .limit(MAX_CORRECTIONS)
    )
    changes = Counter[str]()
    for old, new in session.execute(query):
        changes.update(corrections(old, new))
    return changes
