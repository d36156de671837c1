"""Who may take, decide and settle a review, and what a decision changes in its row.

An order above a set value needs two people: what the first decides stands and waits, and counts once another
decides the same. A second who decides otherwise leaves a decision standing in turn (ADR 13).
"""

from __future__ import annotations

from datetime import datetime

from schemas.compare import same_order
from schemas.errors import Conflict
from schemas.records.orders import Outcome
from schemas.records.reviews import ReviewRecord
from schemas.review import Standing
from services.storage.base.tables import ReviewRow

# Titles of conflicts.
HELD, CHANGED = "Someone else has this review", "The review has changed since you read it"


def value_of(review: ReviewRecord) -> int:
    """What the order is worth as the machine proposed it, in minor units; 0 where it proposed nothing."""
    return review.proposed.total if review.proposed else 0


def waits(review: ReviewRecord, mine: Standing, outcome: Outcome, second_above: int) -> bool:
    """Return whether a decision only stands until another agrees: the order is worth more than that, as
    proposed or as decided. 0: no order needs two people."""
    worth = max(value_of(review), outcome.cart.total if outcome.cart else 0)
    return 0 < second_above < worth and not agreed(review, mine)


def agreed(review: ReviewRecord, mine: Standing) -> bool:
    """Return whether another decided the same before: both refused it, or both want the same lines and
    notes."""
    first = review.standing
    if first is None or first.by == mine.by:
        return False
    if first.cart is None or mine.cart is None:
        return first.cart is mine.cart
    return same_order(first.cart, mine.cart)


def opened(standing: Standing) -> dict[str, object]:
    """The columns of a review that waits for a second decision."""
    return {"status": "open", "claimed_by": None, "standing": standing.model_dump(mode="json")}


def decided(by: Standing, now: datetime) -> dict[str, object]:
    """The columns of a settled review."""
    settled = {"decision": by.action, "decided_by": by.by, "decided_at": now, "reason": by.reason}
    return {"status": "decided", **settled}


def check_undecided(seen: ReviewRow) -> None:
    """Raises Conflict where the review is settled."""
    if seen.status not in ("open", "claimed"):
        raise Conflict(f"The review is {seen.status}", title="The review is closed")


def check_free(seen: ReviewRow, reviewer: str, now: datetime) -> None:
    """Raises Conflict unless `reviewer` may take the review."""
    check_undecided(seen)
    if seen.standing is not None and seen.standing["by"] == reviewer:
        raise Conflict(
            "You have already decided on this order",
            hint="It needs a second approval by a colleague.",
            title="The review needs a second person",
        )
    if seen.status == "claimed" and seen.claimed_by != reviewer and _live(seen, now):
        raise Conflict(
            f"{seen.claimed_by} has this review",
            hint="Take another one, or wait until it's released.",
            title=HELD,
        )


def check_held(seen: ReviewRow, reviewer: str, now: datetime) -> None:
    """Raises Conflict unless `reviewer` holds the review."""
    check_undecided(seen)
    if seen.status == "open" or (seen.claimed_by == reviewer and not _live(seen, now)):
        raise Conflict(
            "This review isn't assigned to you",
            hint="Take it again, check it, then decide.",
            title="You haven't claimed this review",
        )
    if seen.claimed_by != reviewer:
        raise Conflict(f"{seen.claimed_by} has this review", title=HELD)


def _live(row: ReviewRow, now: datetime) -> bool:
    return row.lease_until is not None and row.lease_until > now
