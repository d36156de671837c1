"""Decisions of reviewers, counted by the hour, so that statistics read no carts.

| kind | code |
|---|---|
| `action` | `approve`, `correct`, `reject` |
| `by` | who decided |
| `wait`, `work` | seconds since the review was opened, and since its decider took it: see `two_digits` |
| `change` | what was corrected, in words: see `schemas/corrections.py` |

A review is decided at most once, and nothing of it changes afterwards: its order has ended for good.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Row, case, func, select
from sqlalchemy.orm import Session

from schemas.corrections import corrections
from schemas.shops.access import EVERY_SHOP
from services.storage.base.mapping import cart_of
from services.storage.base.records import Decided
from services.storage.base.scoping import of_shop
from services.storage.base.tables import ReviewRecordRow, ReviewRow, ReviewTallyRow
from services.storage.counts.folding import Source, Stretch, mark

_CHUNK = 500
HOUR = timedelta(hours=1)

Tally = Counter[tuple[str, datetime, str, str]]
"""(shop, beginning of the hour, kind, code) to how many."""


def decided(session: Session, shop: str, now: datetime, hours: int) -> Decided:
    """What a shop decided in the last `hours` hours of the clock up to `now`, the one that runs included."""
    since = _hour(now) - HOUR * (hours - 1)
    found: dict[str, Counter[str]] = defaultdict(Counter)
    by_hour: Counter[datetime] = Counter()
    recent = of_shop(ReviewTallyRow, shop) & (ReviewTallyRow.hour >= since)
    summed = select(ReviewTallyRow.kind, ReviewTallyRow.code, func.sum(ReviewTallyRow.count))
    for kind, code, count in session.execute(
        summed.where(recent).group_by(ReviewTallyRow.kind, ReviewTallyRow.code)
    ):
        found[kind][code] += count
    settled = select(ReviewTallyRow.hour, func.sum(ReviewTallyRow.count)).group_by(ReviewTallyRow.hour)
    for hour, count in session.execute(settled.where(recent, ReviewTallyRow.kind == "action")):
        by_hour[hour] += count
    _, live = _count(session, Stretch(max(since, mark(session, "decided"))))
    for (whose, hour, kind, code), count in live.items():
        if shop not in (EVERY_SHOP, whose):
            continue
        found[kind][code] += count
        if kind == "action":
            by_hour[hour] += count
    return Decided(
        by_hour=by_hour,
        actions=found["action"],
        people=found["by"],
        waits_s=_seconds(found["wait"]),
        works_s=_seconds(found["work"]),
        changes=found["change"],
    )


def _seconds(counted: Counter[str]) -> Counter[int]:
    return Counter({int(code): count for code, count in counted.items() if code.isdecimal()})


def two_digits(seconds: float) -> int:
    """Whole seconds down to two digits: 7, 42, 120, 3600. So few that a histogram of them stays small."""
    whole = str(max(0, int(seconds)))
    return int(whole[:2].ljust(len(whole), "0"))


def _count(session: Session, stretch: Stretch) -> tuple[int, Tally]:
    # Only corrections need the carts, and those are what a decision weighs.
    corrected = ReviewRow.decision == "correct"
    query = (
        select(
            ReviewRecordRow.review_id,
            ReviewRecordRow.at,
            ReviewRecordRow.actor,
            ReviewRow.shop_id,
            ReviewRow.decision,
            ReviewRow.created_at,
            case((corrected, ReviewRecordRow.before)).label("before"),
            case((corrected, ReviewRecordRow.after)).label("after"),
        )
        .join(ReviewRow, ReviewRow.id == ReviewRecordRow.review_id)
        .where(_DECIDED, stretch.holds(ReviewRecordRow.at))
    )
    rows, found = 0, Tally()
    for chunk in session.execute(query, execution_options={"yield_per": _CHUNK}).partitions():
        began = _began(session, [row.review_id for row in chunk])
        rows += len(chunk)
        for row in chunk:
            taken = began.get((row.review_id, row.actor))
            found.update((row.shop_id, _hour(row.at), kind, code) for kind, code in _facts(row, taken))
    return rows, found


def _facts(row: Row[Any], began_at: datetime | None) -> Iterator[tuple[str, str]]:
    yield "action", row.decision
    yield "by", row.actor
    yield "wait", str(two_digits((row.at - row.created_at).total_seconds()))
    if began_at is not None:
        yield "work", str(two_digits((row.at - began_at).total_seconds()))
    before, after = cart_of(row.before), cart_of(row.after)
    if before is not None and after is not None:
        yield from (("change", change) for change in corrections(before, after))


def _began(session: Session, reviews: Sequence[str]) -> dict[tuple[str, str], datetime]:
    """When each reviewer last took each of these reviews."""
    acts = select(
        ReviewRecordRow.review_id, ReviewRecordRow.actor, ReviewRecordRow.action, ReviewRecordRow.at
    )
    rows = session.execute(acts.where(ReviewRecordRow.review_id.in_(reviews)).order_by(ReviewRecordRow.at))
    # By action here and not there: asked for both, SQLite goes through every claim that there ever was.
    return {(review, actor): at for review, actor, action, at in rows if action in ("claimed", "taken_over")}


def _hour(moment: datetime) -> datetime:
    return moment.replace(minute=0, second=0, microsecond=0)


_DECIDED = ReviewRecordRow.action == "decided"
SOURCE = Source("decided", ReviewRecordRow.at, ReviewTallyRow, _count, (_DECIDED,), share=0.1)
