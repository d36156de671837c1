"""Reviews: the queue in front of a human. One reviewer holds one review, for the length of a lease."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from schemas.errors import Conflict
from schemas.records.orders import OrderRecord, Outcome
from schemas.records.reviews import ReviewRecord
from schemas.review import ReviewDecision
from schemas.shops.audit import Actor
from services.storage.base.changes import move, swap, writing
from services.storage.base.mapping import columns_of, order_of, review_of
from services.storage.base.scoping import of_shop
from services.storage.base.tables import OrderRow, ReviewRow
from services.storage.reviews.log import record_act, record_decision
from services.storage.reviews.queue import ReviewQueue

# Titles of conflicts.
HELD, CHANGED = "Someone else has this review", "The review has changed since you read it"


class ReviewStore(ReviewQueue):
    """Reviews of one shop. Every call is one transaction, and may raise in addition to what it names
    StorageUnavailable, and NotFound for an id that no review of the shop has."""

    def get(self, review_id: str) -> ReviewRecord:
        """One review."""
        with self._database.read() as session:
            return review_of(self._one(session, ReviewRow, review_id))

    def by_order(self, order_id: str) -> ReviewRecord | None:
        """The review of an order, None if it was never doubted."""
        with self._database.read() as session:
            query = select(ReviewRow).where(ReviewRow.order_id == order_id, of_shop(ReviewRow, self._shop))
            row = session.scalars(query).one_or_none()
            return None if row is None else review_of(row)

    def claim(self, review_id: str, reviewer: str, lease_s: float) -> ReviewRecord:
        """Take a review for `lease_s` seconds, renew one's own claim, or take over a lapsed one.

        Renewing leaves `version` alone: nothing that the reviewer has read is different.

        Raises:
            Conflict: another reviewer holds it, or it is settled.
        """
        with writing(self._database) as (session, now):
            seen = self._one(session, ReviewRow, review_id, hold=True)
            _check_free(seen, reviewer, now)
            if not (own := seen.claimed_by == reviewer):
                action = "taken_over" if seen.status == "claimed" else "claimed"
                detail = {"from": seen.claimed_by} if seen.claimed_by else {}
                record_act(session, now, review_id, reviewer, action, detail=detail)
            return _change(
                session,
                seen,
                version=seen.version + (0 if own else 1),
                status="claimed",
                claimed_by=reviewer,
                lease_until=now + timedelta(seconds=lease_s),
            )

    def renew(self, review_id: str, reviewer: str, lease_s: float) -> ReviewRecord:
        """Hold one's own live claim for `lease_s` seconds from now.

        Raises:
            Conflict: not held, held by another, lapsed, or settled.
        """
        with writing(self._database) as (session, now):
            seen = self._one(session, ReviewRow, review_id, hold=True)
            _check_held(seen, reviewer, now)
            until = now + timedelta(seconds=lease_s)
            return _change(session, seen, version=seen.version, lease_until=until)

    def release(self, review_id: str, reviewer: str) -> ReviewRecord:
        """Put one's own claim back into the queue; a review that is open stays so.

        Raises:
            Conflict: another reviewer holds it, or it is settled.
        """
        with writing(self._database) as (session, now):
            seen = self._one(session, ReviewRow, review_id, hold=True)
            if seen.status == "open":
                return review_of(seen)
            _check_undecided(seen)
            if seen.claimed_by != reviewer:
                raise Conflict(f"{seen.claimed_by} has this review", title=HELD)
            record_act(session, now, review_id, reviewer, "released")
            return _change(session, seen, status="open", claimed_by=None, lease_until=None)

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
        """Settle a review that `reviewer` holds, and move its order by `outcome`, in one transaction.

        `by` is who the credential says that `reviewer` is. Unless it must be `held`, a review will do that no
        other holds.

        Raises:
            Conflict: not claimed, claimed by another, lapsed, settled, or read at another version.
            StaleState: the order is not where `outcome` can move it from. Nothing is stored.
        """
        with writing(self._database) as (session, now):
            seen, order = self._locked(session, review_id)
            (_check_held if held else _check_free)(seen, reviewer, now)
            _check_read(seen, decision.version)
            before = review_of(seen)
            order = move(session, now, order, outcome.event, columns_of(order, outcome), outcome.detail)
            settled = {"decision": decision.action, "decided_by": reviewer, "decided_at": now}
            columns = settled | {"status": "decided", "reason": decision.reason, "lease_until": None}
            decided = _change(session, seen, **columns)
            record_decision(session, now, before, reviewer, decision, outcome.cart, by)
            return decided, order

    def ask(
        self, review_id: str, version: int, outcome: Outcome, *, reviewer: str, lease_s: float
    ) -> ReviewRecord:
        """Ask the customer by `outcome`, and release the review that `reviewer` holds; for `lease_s` seconds,
        or until there is an answer, it is the customer's turn.

        Raises:
            Conflict, StaleState: as `decide`.
        """
        with writing(self._database) as (session, now):
            seen, order = self._locked(session, review_id)
            _check_held(seen, reviewer, now)
            _check_read(seen, version)
            move(session, now, order, outcome.event, columns_of(order, outcome), outcome.detail)
            record_act(session, now, review_id, reviewer, "asked", reason=outcome.detail["asked"])
            until = now + timedelta(seconds=lease_s)
            return _change(session, seen, status="open", claimed_by=None, lease_until=until)

    def _locked(self, session: Session, review_id: str) -> tuple[ReviewRow, OrderRecord]:
        """A review and its order, ours alone until the transaction ends; raises NotFound."""
        # The order is locked first, as in OrderStore.cancel, that none wait for each other.
        of_review = select(ReviewRow.order_id).where(ReviewRow.id == review_id).scalar_subquery()
        row = session.scalar(select(OrderRow).where(OrderRow.id == of_review).with_for_update())
        seen = self._one(session, ReviewRow, review_id, hold=True)
        assert row is not None  # by a foreign key
        return seen, order_of(row)


def _change(session: Session, seen: ReviewRow, **columns: object) -> ReviewRecord:
    row = swap(session, ReviewRow, seen.id, seen.version, **columns)
    if row is None:  # can't be while the row is locked; kept so that no lock is trusted alone
        raise Conflict(f"Review {seen.id} changed in the meantime", title=CHANGED)
    return review_of(row)


def _check_read(seen: ReviewRow, version: int) -> None:
    """Raises Conflict unless the review was read as it is now."""
    if seen.version != version:
        raise Conflict(f"The review is at version {seen.version}, not {version}", title=CHANGED)


def _check_undecided(seen: ReviewRow) -> None:
    """Raises Conflict where the review is settled."""
    if seen.status not in ("open", "claimed"):
        raise Conflict(f"The review is {seen.status}", title="The review is closed")


def _check_free(seen: ReviewRow, reviewer: str, now: datetime) -> None:
    """Raises Conflict unless `reviewer` may take the review."""
    _check_undecided(seen)
    if seen.status == "claimed" and seen.claimed_by != reviewer and _live(seen, now):
        raise Conflict(
            f"{seen.claimed_by} has this review",
            hint="Take another one, or wait until it's released.",
            title=HELD,
        )


def _check_held(seen: ReviewRow, reviewer: str, now: datetime) -> None:
    """Raises Conflict unless `reviewer` holds the review."""
    _check_undecided(seen)
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
