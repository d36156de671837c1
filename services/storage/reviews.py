"""Reviews: the queue in front of a human. One reviewer holds one review, for the length of a lease."""

from __future__ import annotations

import builtins
from datetime import datetime, timedelta

from sqlalchemy import and_, literal, or_, select, tuple_
from sqlalchemy.orm import Session

from infra.database import Database, UtcDateTime
from schemas.errors import Conflict, NotFound, StaleState
from services.storage.changes import move, reading, swap, writing
from services.storage.keys import cursor_after, parse_cursor
from services.storage.mapping import columns_of, order_of, review_of
from services.storage.records import OrderRecord, Outcome, ReviewRecord
from services.storage.tables import OrderRow, ReviewRow


class ReviewStore:
    """Every call is one transaction, and may raise StorageUnavailable beside what it names."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def list(
        self, *, limit: int, cursor: str | None, include_claimed: bool
    ) -> tuple[builtins.list[ReviewRecord], str | None]:
        """Up to `limit` undecided reviews, longest waiting first, and the cursor to the next page.

        Without `include_claimed` those are left out that somebody holds now; a lapsed claim is shown.

        Raises:
            InputError: not a cursor of ours.
        """
        query = select(ReviewRow).order_by(ReviewRow.created_at, ReviewRow.id).limit(limit + 1)
        if cursor is not None:
            at, key = parse_cursor(cursor)
            query = query.where(
                tuple_(ReviewRow.created_at, ReviewRow.id) > tuple_(literal(at, UtcDateTime), literal(key))
            )
        with reading(self._database) as session:
            lapsed = and_(ReviewRow.status == "claimed", ReviewRow.lease_until <= self._database.now(session))
            waiting = ReviewRow.status.in_(["open", "claimed"])
            query = query.where(waiting if include_claimed else or_(ReviewRow.status == "open", lapsed))
            found = [review_of(row) for row in session.scalars(query)]
        if len(found) <= limit:
            return found, None
        last = found[limit - 1]
        return found[:limit], cursor_after(last.created_at, last.id)

    def get(self, review_id: str) -> ReviewRecord:
        """One review.

        Raises:
            NotFound: no such review.
        """
        with reading(self._database) as session:
            return review_of(_existing(session.get(ReviewRow, review_id), review_id))

    def by_order(self, order_id: str) -> ReviewRecord | None:
        """The review of an order, None if it was never doubted."""
        with reading(self._database) as session:
            row = session.scalars(select(ReviewRow).where(ReviewRow.order_id == order_id)).one_or_none()
            return None if row is None else review_of(row)

    def claim(self, review_id: str, reviewer: str, lease_s: float) -> ReviewRecord:
        """Take a review for `lease_s` seconds, renew one's own claim, or take over a lapsed one.

        Renewing leaves `version` alone: nothing that the reviewer has read is different.

        Raises:
            NotFound: no such review.
            Conflict: another reviewer holds it, or it is settled.
        """
        with writing(self._database) as (session, now):
            seen = _locked(session, review_id)
            if seen.status not in ("open", "claimed"):
                raise Conflict(f"The review is {seen.status}")
            own = seen.claimed_by == reviewer
            if seen.status == "claimed" and not own and _live(seen, now):
                raise Conflict(
                    f"{seen.claimed_by} holds this review", hint="Take another, or wait until it is free."
                )
            return _change(
                session,
                seen,
                version=seen.version + (0 if own else 1),
                status="claimed",
                claimed_by=reviewer,
                lease_until=now + timedelta(seconds=lease_s),
            )

    def release(self, review_id: str, reviewer: str) -> ReviewRecord:
        """Put one's own claim back into the queue; a review that is open stays so.

        Raises:
            NotFound: no such review.
            Conflict: another reviewer holds it, or it is settled.
        """
        with writing(self._database) as (session, _):
            seen = _locked(session, review_id)
            if seen.status == "open":
                return review_of(seen)
            if seen.status != "claimed":
                raise Conflict(f"The review is {seen.status}")
            if seen.claimed_by != reviewer:
                raise Conflict(f"{seen.claimed_by} holds this review")
            return _change(session, seen, status="open", claimed_by=None, lease_until=None)

    def decide(
        self,
        review_id: str,
        *,
        reviewer: str,
        version: int,
        action: str,
        reason: str | None,
        outcome: Outcome,
    ) -> tuple[ReviewRecord, OrderRecord]:
        """Settle a review that `reviewer` holds, and move its order by `outcome`, in one transaction.

        Raises:
            NotFound: no such review.
            Conflict: not claimed, claimed by another, lapsed, settled, or read at another version.
            StaleState: the order is not where `outcome` can move it from. Nothing is stored.
        """
        with writing(self._database) as (session, now):
            # The order first, as in OrderStore.cancel: two that lock both must do so in one order.
            order_id = select(ReviewRow.order_id).where(ReviewRow.id == review_id).scalar_subquery()
            row = session.scalars(
                select(OrderRow).where(OrderRow.id == order_id).with_for_update()
            ).one_or_none()
            seen = _locked(session, review_id)
            if seen.status not in ("open", "claimed"):
                raise Conflict(f"The review is {seen.status}")
            if seen.status == "open" or (seen.claimed_by == reviewer and not _live(seen, now)):
                raise Conflict("You do not hold this review", hint="Claim it, read it again, then decide.")
            if seen.claimed_by != reviewer:
                raise Conflict(f"{seen.claimed_by} holds this review")
            if seen.version != version:
                raise Conflict(f"The review is at version {seen.version}, not {version}")
            if row is None:
                raise StaleState(f"Review {review_id} has no order")
            order = order_of(row)
            moved = move(session, now, order, outcome.event, columns_of(order, outcome), outcome.detail)
            review = _change(
                session,
                seen,
                status="decided",
                lease_until=None,
                decision=action,
                decided_by=reviewer,
                decided_at=now,
                reason=reason,
            )
            return review, moved


def _existing(row: ReviewRow | None, review_id: str) -> ReviewRow:
    if row is None:
        raise NotFound(f"No review {review_id}")
    return row


def _locked(session: Session, review_id: str) -> ReviewRow:
    """The row, held to the end of the transaction: on SQLite by BEGIN IMMEDIATE, else by FOR UPDATE."""
    return _existing(session.get(ReviewRow, review_id, with_for_update=True), review_id)


def _live(row: ReviewRow, now: datetime) -> bool:
    return row.lease_until is not None and row.lease_until > now


def _change(session: Session, seen: ReviewRow, **columns: object) -> ReviewRecord:
    row = swap(session, ReviewRow, seen.id, seen.version, **columns)
    if row is None:  # can't be while the row is locked; kept so that no lock is trusted alone
        raise Conflict(f"Review {seen.id} changed meanwhile")
    return review_of(row)
