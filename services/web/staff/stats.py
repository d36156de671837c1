"""`/review/stats`: figures of the orders and reviews of the last 30 days."""

from __future__ import annotations

from collections import Counter

from fastapi import APIRouter, Request
from starlette.responses import Response

from services.web.pages import PageRoute, page
from services.web.staff.review_view import in_short
from services.web.staff.staff import ReviewScope

# Registered before `review.py`, where "stats" would be a review's id.
router = APIRouter(prefix="/review", include_in_schema=False, route_class=PageRoute)

DAYS = 30
COMMONEST = 8


@router.get("/stats")
def stats(request: Request, box: ReviewScope) -> Response:
    """Show when orders come, how long they take, what was in doubt, and what reviewers decided."""
    orders, decided = box.order_statistics(DAYS), box.decided(DAYS)
    return page(
        request,
        "review/stats.html",
        orders=orders,
        days=[
            (f"{d:%a %d %b}", f"{d:%d %b}" if d.isoweekday() == 1 else "", n) for d, n in orders.days.items()
        ],
        hours=[(f"{h:02}:00", f"{h:02}:00" if h % 6 == 0 else "", n) for h, n in enumerate(orders.hours)],
        asked_for=_commonest(orders.asked_for),
        to_staff_for=_commonest(orders.to_staff_for),
        items=orders.items.most_common(COMMONEST),
        waiting=box.reviews.queue(1).waiting,
        decided=decided,
        corrections=decided.changes.most_common(COMMONEST),
        people=decided.people.most_common(COMMONEST),
    )


def _commonest(codes: Counter[str]) -> list[tuple[str, int]]:
    """Return the most common doubts in staff's words, which several codes may share."""
    return Counter(in_short(code) for code in codes.elements()).most_common(COMMONEST)
