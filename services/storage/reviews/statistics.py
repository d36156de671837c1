"""What a shop's reviewers decided lately, counted from their records."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, func, select, text
from sqlalchemy.orm import Session, aliased

from infra.sql.database import Database
from schemas.corrections import corrections
from schemas.records.reviews import Decided
from services.storage.base.mapping import cart_of
from services.storage.base.scoping import database_of, of_shop
from services.storage.base.tables import DECIDED, ReviewRecordRow, ReviewRow

MOST_CORRECTIONS = 1000
"""Of which carts are compared, the newest."""


def decided(database: Database, shop: str, hours: int) -> Decided:
    """Count what a shop decided in the last `hours` hours of the clock, the one that runs included.

    Raises:
        StorageUnavailable: see there.
    """
    with database_of(database, shop).read() as session:
        since = _hour(database.now(session)) - timedelta(hours=hours - 1)
        lately = text(DECIDED) & (ReviewRecordRow.at >= since) & of_shop(ReviewRow, shop)
        return _counted(session, lately, Counter(_changes(session, lately)))


def _counted(session: Session, lately: ColumnElement[bool], changes: Counter[str]) -> Decided:
    taken = aliased(ReviewRecordRow)
    taken_at = (
        select(func.max(taken.at))
        .where(
            taken.review_id == ReviewRecordRow.review_id,
            taken.actor == ReviewRecordRow.actor,
            taken.action.in_(["claimed", "taken_over"]),
        )
        .scalar_subquery()
    )
    query = (
        select(
            ReviewRecordRow.at,
            ReviewRecordRow.actor,
            ReviewRow.decision,
            ReviewRow.created_at,
            taken_at.label("taken_at"),
        )
        .join(ReviewRow, ReviewRow.id == ReviewRecordRow.review_id)
        .where(lately)
    )
    found = Decided(Counter(), Counter(), Counter(), Counter(), Counter(), changes)
    for row in session.execute(query):
        found.by_hour[_hour(row.at)] += 1
        found.actions[row.decision] += 1
        found.people[row.actor] += 1
        found.waits_s[_seconds(row.at - row.created_at)] += 1
        if row.taken_at is not None:
            found.works_s[_seconds(row.at - row.taken_at)] += 1
    return found


def _changes(session: Session, lately: ColumnElement[bool]) -> list[str]:
    """What the newest corrections changed, in words: see `schemas/corrections.py`."""
    query = (
        select(ReviewRecordRow.before, ReviewRecordRow.after)
        .join(ReviewRow, ReviewRow.id == ReviewRecordRow.review_id)
        .where(lately, ReviewRow.decision == "correct")
        .order_by(ReviewRecordRow.at.desc())
        .limit(MOST_CORRECTIONS)
    )
    carts = [(cart_of(before), cart_of(after)) for before, after in session.execute(query)]
    return [
        change
        for before, after in carts
        if before is not None and after is not None
        for change in corrections(before, after)
    ]


def _seconds(time: timedelta) -> int:
    return max(0, int(time.total_seconds()))


def _hour(moment: datetime) -> datetime:
    return moment.replace(minute=0, second=0, microsecond=0)
