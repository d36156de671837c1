"""`/review/stats`: figures of the reviews."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta

from fastapi import APIRouter, Request
from starlette.responses import Response

from schemas.records.reviews import Decided
from services.web.pages import PageRoute, page
from services.web.staff.staff import ReviewScope

# Registered before `review.py`, where "stats" would be a review's id.
router = APIRouter(prefix="/review", include_in_schema=False, route_class=PageRoute)

PERIODS = {1: "24 hours", 7: "7 days", 30: "30 days"}
COMMONEST = 8
# Upper bounds of the groups of waiting times, in minutes.
WAITS = (1, 2, 5, 10, 30, 60)
WAIT_LABELS = "under 1", "1–2", "2–5", "5–10", "10–30", "30–60", "over 60"


@dataclass(frozen=True, slots=True)
class Figures:
    """The page's figures. Times are in seconds, None without decisions."""

    settled: int
    actions: Counter[str]
    wait_s: float | None
    slow_wait_s: float | None
    work_s: float | None
    agreement: float | None
    corrections: list[tuple[str, int]]
    people: list[tuple[str, int]]


@router.get("/stats")
def stats(request: Request, box: ReviewScope, days: int = 7) -> Response:
    """Show the last `days`, one of `PERIODS`, in whole hours."""
    days = days if days in PERIODS else 7
    decided = box.decided(24 * days)
    queue = box.reviews.queue(1)
    return page(
        request,
        "review/stats.html",
        days=days,
        periods=PERIODS,
        queue=queue,
        figures=figures(decided),
        throughput=_throughput(decided, queue.now, days),
        waits=_waits(decided),
    )


def figures(decided: Decided) -> Figures:
    """Compute the figures of decisions."""
    actions = decided.actions
    sold = actions["approve"] + actions["correct"]
    return Figures(
        settled=actions.total(),
        actions=actions,
        wait_s=_at_share(decided.waits_s, 0.5),
        slow_wait_s=_at_share(decided.waits_s, 0.9),
        work_s=_at_share(decided.works_s, 0.5),
        # The share of sold orders that were approved unchanged. A rejection says nothing about the cart.
        agreement=actions["approve"] / sold if sold else None,
        corrections=decided.changes.most_common(COMMONEST),
        people=decided.people.most_common(COMMONEST),
    )


def _at_share(seconds: Counter[int], share: float) -> float | None:
    """Return the quantile at `share`, None without values."""
    seen = 0
    for time_s in sorted(seconds):
        seen += seconds[time_s]
        if seen >= share * seconds.total():
            return time_s
    return None


def _throughput(decided: Decided, now: datetime, days: int) -> list[tuple[str, int]]:
    """Return decisions by hour for one day, else by day; the last one includes `now`."""
    step = timedelta(hours=1) if days == 1 else timedelta(days=1)
    form = "%H" if days == 1 else "%d.%m."
    slots = [now - step * back for back in range(24 if days == 1 else days)][::-1]
    key = "%Y-%m-%d %H" if days == 1 else "%Y-%m-%d"
    counted: Counter[str] = Counter()
    for hour, count in decided.by_hour.items():
        counted[hour.strftime(key)] += count
    return [(slot.strftime(form), counted[slot.strftime(key)]) for slot in slots]


def _waits(decided: Decided) -> list[tuple[str, int]]:
    groups = Counter[int]()
    for wait_s, count in decided.waits_s.items():
        groups[bisect_right(WAITS, wait_s / 60)] += count
    return [(label, groups[group]) for group, label in enumerate(WAIT_LABELS)]
