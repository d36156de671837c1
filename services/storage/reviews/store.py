"""The review store: claims, questions and decisions. A reviewer holds a review for the length of a lease.

Each action is recorded in `review_records`, which is append-only, in the same transaction:

- `claimed`, `taken_over` (from a reviewer whose lease had run out), `released`
- `asked`: the question to the customer, as the reason
- `decided`: the decision, with the carts before and after
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from schemas.errors import Conflict
from schemas.records.orders import OrderRecord, Outcome
from schemas.records.reviews import ReviewRecord
from schemas.review import ReviewDecision
from schemas.shops.audit import Actor
from services.storage.audit.log import record
from services.storage.base.changes import move, writing
from services.storage.base.ids import new_id
from services.storage.base.mapping import order_of, review_of
from services.storage.base.tables import OrderRow, ReviewRecordRow, ReviewRow
from services.storage.reviews.queue import ReviewQueue

# Titles of conflicts.
HELD, CHANGED = "Someone else has this review", "The review has changed since you read it"


class ReviewStore(ReviewQueue):
    """Reviews of one shop. Each call is one transaction. Any call may also raise StorageUnavailable, and
    NotFound for an id that the shop doesn't have."""

    def claim(self, review_id: str, reviewer: str, lease_s: float, *, held: bool = False) -> ReviewRecord:
        """Claim a review for `lease_s` seconds, renew one's own claim, or take over a lapsed one. Renewing
        doesn't change `version`. `held`: only renew.

        Raises:
            Conflict: another reviewer holds it, it is closed, or one's claim to be renewed has lapsed.
        """
        with writing(self._database) as (session, now):
            seen = self._one(session, ReviewRow, review_id, hold=True)
            _check_holder(seen, reviewer, now, held=held)
            if not (own := seen.claimed_by == reviewer):
                action = "taken_over" if seen.status == "claimed" else "claimed"
                _record(session, now, review_id, reviewer, action)
            return _change(
                seen,
                version=seen.version + (0 if own else 1),
                status="claimed",
                claimed_by=reviewer,
                lease_until=now + timedelta(seconds=lease_s),
            )

    def release(self, review_id: str, reviewer: str) -> ReviewRecord:
        """Release one's own claim, if any; raises Conflict if another reviewer holds it, or it is closed."""
        with writing(self._database) as (session, now):
            seen = self._one(session, ReviewRow, review_id, hold=True)
            if seen.status == "open":
                return review_of(seen)
            _check_undecided(seen)
            if seen.claimed_by != reviewer:
                raise Conflict(f"{seen.claimed_by} has this review", title=HELD)
            _record(session, now, review_id, reviewer, "released")
            return _change(seen, status="open", claimed_by=None, lease_until=None)

    def decide(
        self,
        review_id: str,
        decision: ReviewDecision,
        outcome: Outcome,
        *,
        reviewer: str,
        by: Actor,
        held: bool = True,
    ) -> tuple[ReviewRecord, OrderRecord]:
        """Settle a review that `reviewer` holds, and move its order by `outcome`.

        `by` is the actor for the audit log. Without `held`, it is enough that no other reviewer holds it.

        Raises:
            Conflict: the review isn't held, is closed, or has changed since it was read.
            StaleState: `outcome` can't move the order from its state.
        """
        with writing(self._database) as (session, now):
            seen, order = self._locked(session, review_id)
            _check_holder(seen, reviewer, now, held=held)
            _check_read(seen, decision.version)
            proposed, cart, action = seen.proposed, outcome.cart, decision.action
            order = move(session, now, order, outcome)
            settled = {"decision": action, "decided_by": reviewer, "decided_at": now}
            columns = settled | {"status": "decided", "reason": decision.reason, "lease_until": None}
            decided = _change(seen, **columns)
            act = {"decision": action, "before": proposed, "after": cart, "reason": decision.reason}
            _record(session, now, review_id, reviewer, "decided", **act)
            # The audit log has only the totals: cart lines and the reason must be erasable.
            before, after = ({"total": one.total if one else None} for one in (proposed, cart))
            logged = {"decision": action, "reviewer": reviewer, "order": order.id} | after
            about = ("review", review_id)
            record(session, now, by, "review.decided", about, shop=order.shop, before=before, after=logged)
            return decided, order

    def ask(
        self, review_id: str, version: int, outcome: Outcome, *, reviewer: str, lease_s: float
    ) -> ReviewRecord:
        """Ask the customer by `outcome`, and release the review, which waits `lease_s` seconds for an answer.

        Raises:
            Conflict, StaleState: as `decide`.
        """
        with writing(self._database) as (session, now):
            seen, order = self._locked(session, review_id)
            _check_holder(seen, reviewer, now, held=True)
            _check_read(seen, version)
            move(session, now, order, outcome)
            _record(session, now, review_id, reviewer, "asked", reason=outcome.detail["asked"])
            until = now + timedelta(seconds=lease_s)
            return _change(seen, status="open", claimed_by=None, lease_until=until)

    def _locked(self, session: Session, review_id: str) -> tuple[ReviewRow, OrderRecord]:
        """Lock and return a review and its order; raises NotFound."""
        # The order is locked first, as in OrderStore.cancel, to avoid deadlocks.
        of_review = select(ReviewRow.order_id).where(ReviewRow.id == review_id).scalar_subquery()
        row = session.scalar(select(OrderRow).where(OrderRow.id == of_review).with_for_update())
        seen = self._one(session, ReviewRow, review_id, hold=True)
        assert row is not None  # by a foreign key
        return seen, order_of(row)


def _change(seen: ReviewRow, **columns: object) -> ReviewRecord:
    """Change a locked review; increments `version` unless the columns set it."""
    for name, value in ({"version": seen.version + 1} | columns).items():
        setattr(seen, name, value)
    return review_of(seen)


def _check_read(seen: ReviewRow, version: int) -> None:
    """Raise Conflict if the review has changed since it was read."""
    if seen.version != version:
        raise Conflict(f"The review is at version {seen.version}, not {version}", title=CHANGED)


def _check_undecided(seen: ReviewRow) -> None:
    """Raise Conflict if the review is closed."""
    if seen.status not in ("open", "claimed"):
        raise Conflict(f"The review is {seen.status}", title="The review is closed")


def _check_holder(seen: ReviewRow, reviewer: str, now: datetime, *, held: bool) -> None:
    """Raise Conflict unless `reviewer` holds the review, or without `held` could claim it."""
    _check_undecided(seen)
    holder = review_of(seen).holder(now)
    if holder is None and held:
        raise Conflict(
            "This review isn't assigned to you",
            hint="Take it again, check it, then decide.",
            title="You haven't claimed this review",
        )
    if holder not in (None, reviewer):
        hint = "Take another one, or wait until it's released."
        raise Conflict(f"{holder} has this review", hint=hint, title=HELD)


def _record(session: Session, now: datetime, review_id: str, actor: str, action: str, **more: Any) -> None:
    """Append an action, with `more` columns."""
    act = {"id": new_id("act"), "review_id": review_id, "at": now, "actor": actor, "action": action}
    session.add(ReviewRecordRow(**act, **more))
