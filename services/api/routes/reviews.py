"""`/v1/reviews`: the queue of orders that need a person.

The reviewer, whom the credential names, claims a review and decides it. A decision names the review's
version; a stale one gets a 409 with the current review.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Depends
from starlette.responses import JSONResponse, Response

from schemas.errors import Conflict, StaleState
from schemas.question import StaffQuestion
from schemas.review import ReviewDecision
from services.api import present
from services.api.deps import Cursor, Limit
from services.api.gate.access import Reviews
from services.api.gate.bodies import body
from services.api.problems import CONFLICT, conflict
from services.shop_scope import ShopScope

router = APIRouter(prefix="/v1/reviews", tags=["reviews"])


@router.get("", response_model=present.ReviewPage)
def list_reviews(box: Reviews, cursor: Cursor = None, limit: Limit = 20) -> present.ReviewPage:
    """List open reviews. Including claimed ones, oldest first."""
    records, next_cursor = box.reviews.list(cursor=cursor, limit=limit)
    return present.ReviewPage(reviews=[present.review_of(r) for r in records], next_cursor=next_cursor)


@router.get("/{review_id}", response_model=present.ReviewDetail)
def get_review(review_id: str, box: Reviews) -> Response:
    """Get a review. With its order and the proposed cart."""
    return _shown(box, review_id)


@router.post("/{review_id}/claim", response_model=present.ReviewDetail, responses=CONFLICT)
def claim_review(review_id: str, box: Reviews) -> Response:
    """Claim a review. It is yours for some minutes; claiming it again renews that."""
    who, lease_s = box.person, box.settings.review_lease_s
    return _change(box, review_id, lambda: box.reviews.claim(review_id, who, lease_s))


@router.post("/{review_id}/release", response_model=present.ReviewDetail, responses=CONFLICT)
def release_review(review_id: str, box: Reviews) -> Response:
    """Release a review. It goes back to the queue."""
    who = box.person
    return _change(box, review_id, lambda: box.reviews.release(review_id, who))


@router.post("/{review_id}/ask", response_model=present.ReviewDetail, responses=CONFLICT)
def ask_customer(
    review_id: str, box: Reviews, question: Annotated[StaffQuestion, Depends(body(StaffQuestion))]
) -> Response:
    """Ask the customer about a review that you hold. It is released; the answer brings it back to the queue
    or settles the open choice."""
    return _change(box, review_id, lambda: box.ask_customer(review_id, question))


@router.post("/{review_id}/decision", response_model=present.ReviewDetail, responses=CONFLICT)
def decide_review(
    review_id: str, box: Reviews, decision: Annotated[ReviewDecision, Depends(body(ReviewDecision))]
) -> Response:
    """Decide a review. Approve the order, correct it by a whole cart, or reject it with a reason."""
    return _change(box, review_id, lambda: box.decide_review(review_id, decision))


def _change(box: ShopScope, review_id: str, change: Callable[[], object]) -> Response:
    """Run a change; add the current review to a conflict."""
    try:
        change()
    except (Conflict, StaleState) as error:
        raise conflict(error, review=present.review_of(box.reviews.get(review_id))) from None
    return _shown(box, review_id)


def _shown(box: ShopScope, review_id: str) -> Response:
    review = box.reviews.get(review_id)
    detail = present.review_detail(review, box.orders.get(review.order_id))
    return JSONResponse(
        detail.model_dump(mode="json", by_alias=True),
        headers={"ETag": f'W/"{review.version}"', "Cache-Control": "no-cache"},
    )
