"""`/review/stats`: how the review does. Figures and plots are made here; the page runs no script for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median

from fastapi import APIRouter, Request
from starlette.responses import Response

from schemas.cart import Cart, CartLine
from services.api.deps import Wired
from services.storage.records import Settled
from services.web.charts import Bar, bars
from services.web.pages import PageRoute, page
from services.web.staff import Signed

# Before `review.py` in the list of pages: there, "stats" would be a review's id.
router = APIRouter(prefix="/review", include_in_schema=False, route_class=PageRoute)

PERIODS = {1: "24 hours", 7: "7 days", 30: "30 days"}
MOST = 5000
COMMONEST = 8
# Upper bounds of the plot of waiting times, in minutes.
WAITS = (1, 2, 5, 10, 30, 60)


@dataclass(frozen=True, slots=True)
class Figures:
    """What the page shows of some settled reviews. Times are medians in seconds, None without any."""

    settled: int
    actions: Counter[str]
    wait_s: float | None
    slow_wait_s: float | None
    work_s: float | None
    agreement: float | None
    corrections: list[tuple[str, int]]
    people: list[tuple[str, int]]


@router.get("/stats")
def stats(request: Request, box: Wired, _staff: Signed, days: int = 7) -> Response:
    """The last `days`, one of `PERIODS`."""
    days = days if days in PERIODS else 7
    settled = box.review_log.settled(within_s=days * 86_400, limit=MOST)
    queue = box.reviews.queue(1)
    return page(
        request,
        "review/stats.html",
        days=days,
        periods=PERIODS,
        queue=queue,
        figures=figures(settled),
        throughput=bars(_throughput(settled, queue.now, days), "settled"),
        waits=bars(_waits(settled), "orders"),
    )


def figures(settled: list[Settled]) -> Figures:
    """What can be counted about these reviews."""
    actions = Counter(str(one.review.decision) for one in settled)
    kept = actions["approve"] + actions["correct"]
    waits = sorted(_wait_s(one) for one in settled)
    works = [(_at(one) - one.began_at).total_seconds() for one in settled if one.began_at]
    changes = Counter(change for one in settled for change in corrections(one.review.proposed, one.after))
    return Figures(
        settled=len(settled),
        actions=actions,
        wait_s=median(waits) if waits else None,
        slow_wait_s=waits[int(0.9 * (len(waits) - 1))] if waits else None,
        work_s=median(works) if works else None,
        # Of orders that were sold: what was approved as it stood. A rejection says nothing about the cart.
        agreement=actions["approve"] / kept if kept else None,
        corrections=changes.most_common(COMMONEST),
        people=Counter(str(one.review.decided_by) for one in settled).most_common(COMMONEST),
    )


def corrections(before: Cart | None, after: Cart | None) -> Iterable[str]:
    """What staff changed, line by line, in words that can be counted. Lines are paired by their own words."""
    if after is None or before is None:
        return
    left = list(after.lines)
    for old in before.lines:
        new = next((line for line in left if line.heard.text == old.heard.text), None)
        if new is None:
            yield f"{old.name} taken off"
            continue
        left.remove(new)
        yield from _line_changes(old, new)
    for line in left:
        yield f"{line.name} added"


def _line_changes(old: CartLine, new: CartLine) -> Iterable[str]:
    if old.sku != new.sku:
        yield f"{old.name} → {new.name}"
        return
    if old.size != new.size:
        yield f"another size of {new.name}"
    if old.quantity != new.quantity:
        yield f"another number of {new.name}"
    had, has = ({(o.group, o.id): o for o in line.options} for line in (old, new))
    for key in sorted({*had, *has}):
        if key not in has:
            yield f"without {had[key].name}"
        elif key not in had:
            yield f"with {has[key].name}"
        elif (had[key].amount, had[key].count) != (has[key].amount, has[key].count):
            yield f"another amount of {has[key].name}"


def _throughput(settled: list[Settled], now: datetime, days: int) -> list[Bar]:
    """Settled by the hour for one day, else by the day; the last bar holds `now`."""
    step = timedelta(hours=1) if days == 1 else timedelta(days=1)
    form = "%H" if days == 1 else "%d.%m."
    slots = [now - step * back for back in range(24 if days == 1 else days)][::-1]
    key = "%Y-%m-%d %H" if days == 1 else "%Y-%m-%d"
    counted = Counter(_at(one).strftime(key) for one in settled)
    return [Bar(slot.strftime(form), counted[slot.strftime(key)]) for slot in slots]


def _waits(settled: list[Settled]) -> list[Bar]:
    minutes = [_wait_s(one) / 60 for one in settled]
    bounds = [0, *WAITS]
    found = [
        Bar(f"{low}–{high}" if low else f"under {high}", sum(low <= m < high for m in minutes))
        for low, high in zip(bounds, WAITS, strict=False)
    ]
    return [*found, Bar(f"over {WAITS[-1]}", sum(m >= WAITS[-1] for m in minutes))]


def _wait_s(one: Settled) -> float:
    return (_at(one) - one.review.created_at).total_seconds()


def _at(one: Settled) -> datetime:
    return one.review.decided_at or one.review.created_at
