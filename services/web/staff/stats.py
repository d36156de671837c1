"""`/review/stats`: figures of the reviews of the last 30 days."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from services.web.pages import PageRoute, page
from services.web.staff.staff import ReviewScope

# Registered before `review.py`, where "stats" would be a review's id.
router = APIRouter(prefix="/review", include_in_schema=False, route_class=PageRoute)

DAYS = 30
COMMONEST = 8


@router.get("/stats")
def stats(request: Request, box: ReviewScope) -> Response:
    """Show what was decided, by whom, and what was corrected most."""
    decided = box.decided(DAYS)
    return page(
        request,
        "review/stats.html",
        days=DAYS,
        waiting=box.reviews.queue(1).waiting,
        decided=decided,
        corrections=decided.changes.most_common(COMMONEST),
        people=decided.people.most_common(COMMONEST),
    )
