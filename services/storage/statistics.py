"""Statistics of a shop's recent orders (when they come, how long they take, why they were doubted) and of its
reviewers' decisions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from datetime import datetime, time, timedelta
from itertools import chain
from statistics import median
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import ColumnElement, Row, Select, extract, func, or_, select, text
from sqlalchemy.orm import Session

from infra.sql.database import Database
from schemas.compare import corrections
from schemas.decision import Verdict
from schemas.lifecycle import State
from schemas.records.reviews import ReviewStatistics
from schemas.records.statistics import Duration, OrderCount, OrderStatistics
from schemas.review import ReviewReason
from services.storage.base.scoping import database_of, of_shop
from services.storage.base.tables import DECIDED, EventRow, OrderRow, ReviewRecordRow, ReviewRow

# How many of the newest orders durations and doubts are computed from, and corrections are compared.
MOST_TIMED, MOST_DOUBTED, MOST_CORRECTED = 2000, 300, 300
QUARTER_S = 900  # time zones differ from UTC by whole quarters of an hour
Query = Select[*tuple[Any, ...]]
_SHOWN = (State.PROPOSED, State.IN_REVIEW, State.COMPLETED)
_SETTLED = (State.COMPLETED, State.REJECTED)
_verdict = func.coalesce(OrderRow.decision["verdict"].as_string(), Verdict.NEEDS_REVIEW.value)
# Each doubt opens a review. It is withdrawn unless a person decides it.
_ASKED = ReviewRow.id.is_not(None) & (_verdict == Verdict.ASKS.value)
_TO_STAFF = ReviewRow.id.is_not(None) & or_(
    _verdict == Verdict.NEEDS_REVIEW.value, ReviewRow.status == "decided"
)


def order_statistics(database: Database, shop: str, days: int, zone: str) -> OrderStatistics:
    """Count a shop's orders of the last `days` in a time zone, today included.

    Raises:
        StorageUnavailable: the database is down.
    """
    local = ZoneInfo(zone)
    with database_of(database, shop).read() as session:
        now = database.now(session)
        first = now.astimezone(local).date() - timedelta(days=days - 1)
        since = datetime.combine(first, time(), local)
        lately = of_shop(OrderRow, shop) & OrderRow.created_at.between(since, now)
        quarters = session.execute(_by_quarter(lately)).all()
        durations = session.execute(_durations(lately)).all()
        doubted = session.execute(_doubted(lately)).all()
    by_day = {first + timedelta(days=number): OrderCount() for number in range(days)}
    by_hour = tuple(OrderCount() for _ in range(24))
    for quarter in quarters:
        at = datetime.fromtimestamp(int(quarter.began), local)
        for count in (by_day[at.date()], by_hour[at.hour]):
            count.orders += quarter.orders
            count.completed += quarter.completed
    return OrderStatistics(
        zone=zone,
        days=by_day,
        hours=by_hour,
        asked=sum(quarter.asked for quarter in quarters),
        asked_for=_tally(_codes(row) for row in doubted if row.asked),
        to_staff=sum(quarter.to_staff for quarter in quarters),
        to_staff_for=_tally(_codes(row) for row in doubted if row.to_staff),
        items=_tally(map(_items, doubted)),
        to_cart=_duration((row.created_at, row.shown) for row in durations),
        to_settled=_duration((row.created_at, row.settled) for row in durations),
    )


def _tally(orders: Iterable[set[str]]) -> Counter[str]:
    return Counter(chain.from_iterable(orders))


def _by_quarter(lately: ColumnElement[bool]) -> Query:
    second = extract("epoch", OrderRow.created_at)
    return (
        select(
            (second - second % QUARTER_S).label("began"),
            func.count().label("orders"),
            func.count().filter(OrderRow.state == State.COMPLETED.value).label("completed"),
            func.count().filter(_ASKED).label("asked"),
            func.count().filter(_TO_STAFF).label("to_staff"),
        )
        .outerjoin(ReviewRow, ReviewRow.order_id == OrderRow.id)
        .where(lately)
        .group_by("began")
    )


def _durations(lately: ColumnElement[bool]) -> Query:
    newest = select(OrderRow.id, OrderRow.created_at).where(lately)
    orders = newest.order_by(OrderRow.created_at.desc()).limit(MOST_TIMED).subquery()
    first = func.min(EventRow.at)
    return (
        select(
            orders.c.created_at,
            first.filter(EventRow.state.in_(_SHOWN)).label("shown"),
            first.filter(EventRow.state.in_(_SETTLED)).label("settled"),
        )
        .join(EventRow, EventRow.order_id == orders.c.id)
        .group_by(orders.c.id, orders.c.created_at)
    )


def _duration(spans: Iterable[tuple[datetime, datetime | None]]) -> Duration | None:
    seconds = sorted((end - begin).total_seconds() for begin, end in spans if end)
    return Duration(median(seconds), seconds[math.ceil(0.95 * len(seconds)) - 1]) if seconds else None


def _doubted(lately: ColumnElement[bool]) -> Query:
    documents = (OrderRow.decision, OrderRow.answer, ReviewRow.reasons, ReviewRow.proposed)
    return (
        select(_ASKED.label("asked"), _TO_STAFF.label("to_staff"), *documents)
        .join(ReviewRow, ReviewRow.order_id == OrderRow.id)
        .where(lately)
        .order_by(OrderRow.created_at.desc())
        .limit(MOST_DOUBTED)
    )


def _codes(row: Row[Any]) -> set[str]:
    """Return the codes of an order's doubts; `BLOCKING_FINDING` only if the finding isn't known."""
    codes = {doubt.code for doubt in row.decision.doubts} if row.decision else set()
    return codes.union(row.reasons) - ({ReviewReason.BLOCKING_FINDING.value} if codes else set())


def _items(row: Row[Any]) -> set[str]:
    """Return the names of items with a blocking finding, or whose name, size or option the model was unsure
    of."""
    unsure = {piece.text for piece in row.answer.unsure} if row.answer else set()
    # Without items that aren't on the menu: their names are the customer's words.
    lines = [line for line in row.proposed.lines if line.kind == "item"] if row.proposed else []
    return {
        line.name
        for line in lines
        if any(finding.blocks for finding in line.findings)
        or unsure & {line.name, line.size_name, *(option.name for option in line.options)}
    }


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
        .limit(MOST_CORRECTED)
    )
    changes = Counter[str]()
    for old, new in session.execute(query):
        changes.update(corrections(old, new))
    return changes
