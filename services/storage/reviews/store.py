"""Reviews: the queue in front of a human. One reviewer holds one review, for the length of a lease.

An order above a set value needs two people: what the first decides stands and waits, and counts once another
decides the same. A second who decides otherwise leaves a decision standing in turn (ADR 13).
"""

from __future__ import annotations

import builtins
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, and_, func, literal, or_, select, text, tuple_
from sqlalchemy.orm import Session

from infra.sql.database import Database, UtcDateTime
from schemas.compare import same_order
from schemas.errors import Conflict, NotFound, StaleState
from schemas.records.orders import OrderRecord, Outcome
from schemas.records.reviews import Queue, QueueEntry, ReviewRecord
from schemas.review import Standing
from schemas.shops.audit import Actor
from schemas.shops.source import PAGE
from services.storage.audit.reviews import told_decision
from services.storage.base.changes import move, reading, swap, writing
from services.storage.base.ids import cursor_after, parse_cursor
from services.storage.base.mapping import allergy_of, columns_of, order_of, review_of, words_of
from services.storage.base.scoping import database_of, of_shop, owned
from services.storage.base.tables import UNDECIDED, OrderRow, ReviewRecordRow, ReviewRow
from services.storage.reviews.log import record_act

# Of one visitor that are looked at together: many times what an address may have waiting.
MOST_OF_VISITOR = 500


class ReviewStore:
    """Reviews of one shop. Every call is one transaction, and may raise StorageUnavailable beside what it
    names; what belongs to another shop is not there."""

    def __init__(self, database: Database, shop: str, tells: frozenset[str] = frozenset()) -> None:
        """`shop`, `tells`: as of the order store."""
        self._database = database_of(database, shop)
        self._shop = shop
        self._tells = tells

    def list(
        self, *, limit: int, cursor: str | None, include_claimed: bool
    ) -> tuple[builtins.list[ReviewRecord], str | None]:
        """Up to `limit` undecided reviews, longest waiting first, and the cursor to the next page.

        Without `include_claimed` those are left out that somebody holds now; a lapsed claim is shown.

        Raises:
            InputError: not a cursor of ours.
        """
        query = select(ReviewRow).where(of_shop(ReviewRow, self._shop)).limit(limit + 1)
        query = query.order_by(ReviewRow.created_at, ReviewRow.id)
        if cursor is not None:
            at, key = parse_cursor(cursor)
            query = query.where(
                tuple_(ReviewRow.created_at, ReviewRow.id) > tuple_(literal(at, UtcDateTime), literal(key))
            )
        with reading(self._database) as session:
            free = _free(self._database.now(session))
            query = query.where(_UNDECIDED if include_claimed else free)
            found = [review_of(row) for row in session.scalars(query)]
        if len(found) <= limit:
            return found, None
        last = found[limit - 1]
        return found[:limit], cursor_after(last.created_at, last.id)

    def queue(self, limit: int) -> Queue:
        """The `limit` reviews that wait longest, held ones too; by whole minutes waited, then by value."""
        mine = of_shop(ReviewRow, self._shop)
        oldest = (
            select(ReviewRow, OrderRow)
            .join(OrderRow, OrderRow.id == ReviewRow.order_id)
            .where(_UNDECIDED, mine)
            .order_by(ReviewRow.created_at, ReviewRow.id)
            .limit(limit)
        )
        with reading(self._database) as session:
            now = self._database.now(session)
            waiting = session.scalar(select(func.count()).select_from(ReviewRow).where(_UNDECIDED, mine)) or 0
            free = session.scalar(select(func.count()).select_from(ReviewRow).where(_free(now), mine)) or 0
            entries = [
                QueueEntry(
                    review=review_of(review),
                    words=words_of(order),
                    allergy=allergy_of(order),
                    menu_id=order.menu_id,
                    spoken=order.audio_key is not None,
                )
                for review, order in session.execute(oldest)
            ]
        # To the second no two wait alike, and the value would never count.
        entries.sort(
            key=lambda e: (-((now - e.review.created_at) // timedelta(minutes=1)), -value_of(e.review))
        )
        return Queue(now, tuple(entries), waiting, waiting - free)

    def get(self, review_id: str) -> ReviewRecord:
        """One review.

        Raises:
            NotFound: no such review.
        """
        with reading(self._database) as session:
            return review_of(self._existing(session.get(ReviewRow, review_id), review_id))

    def by_order(self, order_id: str) -> ReviewRecord | None:
        """The review of an order, None if it was never doubted."""
        with reading(self._database) as session:
            query = select(ReviewRow).where(ReviewRow.order_id == order_id, of_shop(ReviewRow, self._shop))
            row = session.scalars(query).one_or_none()
            return None if row is None else review_of(row)

    def of_visitor(self, review_id: str, limit: int = MOST_OF_VISITOR) -> builtins.list[ReviewRecord]:
        """Undecided reviews of the orders that came from the same address to the same page as this review's,
        longest waiting first; none for an order that came from no page. Also those that somebody holds.

        Raises:
            NotFound: no such review.
        """
        with reading(self._database) as session:
            seen = self._existing(session.get(ReviewRow, review_id), review_id)
            source = session.scalar(select(OrderRow.source).where(OrderRow.id == seen.order_id))
            if source is None or not source.startswith(PAGE):
                return []
            query = (
                select(ReviewRow)
                .join(OrderRow, OrderRow.id == ReviewRow.order_id)
                .where(_UNDECIDED, ReviewRow.shop_id == seen.shop_id, OrderRow.source == source)
                .order_by(ReviewRow.created_at, ReviewRow.id)
                .limit(limit)
            )
            return [review_of(row) for row in session.scalars(query)]

    def claim(self, review_id: str, reviewer: str, lease_s: float) -> ReviewRecord:
        """Take a review for `lease_s` seconds, renew one's own claim, or take over a lapsed one.

        Renewing leaves `version` alone: nothing that the reviewer has read is different.

        Raises:
            NotFound: no such review.
            Conflict: another reviewer holds it, it is settled, or one's own decision on it stands.
        """
        with writing(self._database) as (session, now):
            seen = self._locked(session, review_id)
            _must_be_free(seen, reviewer, now)
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
            NotFound: no such review.
            Conflict: not held, held by another, lapsed, or settled.
        """
        with writing(self._database) as (session, now):
            seen = self._locked(session, review_id)
            _must_hold(seen, reviewer, now)
            until = now + timedelta(seconds=lease_s)
            return _change(session, seen, version=seen.version, lease_until=until)

    def release(self, review_id: str, reviewer: str) -> ReviewRecord:
        """Put one's own claim back into the queue; a review that is open stays so.

        Raises:
            NotFound: no such review.
            Conflict: another reviewer holds it, or it is settled.
        """
        with writing(self._database) as (session, now):
            seen = self._locked(session, review_id)
            if seen.status == "open":
                return review_of(seen)
            if seen.status != "claimed":
                raise Conflict(f"The review is {seen.status}")
            if seen.claimed_by != reviewer:
                raise Conflict(f"{seen.claimed_by} has this review")
            record_act(session, now, review_id, reviewer, "released")
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
        second_above: int = 0,
        held: bool = True,
        by: Actor,
    ) -> tuple[ReviewRecord, OrderRecord]:
        """Settle a review that `reviewer` holds, and move its order by `outcome`, in one transaction.

        Where the order is worth more than `second_above` minor units, as proposed or as decided, it only
        stands, and the review is open again, unless another's standing decision is the same. `by` is who the
        credential says that `reviewer` is. Unless it must be `held`, a review will do that no other holds.

        Raises:
            NotFound: no such review.
            Conflict: not claimed, claimed by another, lapsed, settled, or read at another version.
            StaleState: the order is not where `outcome` can move it from. Nothing is stored.
        """
        with writing(self._database) as (session, now):
            row = _locked_order(session, review_id)
            seen = self._locked(session, review_id)
            _may_decide(seen, reviewer, now, version, held=held)
            if row is None:
                raise StaleState(f"Review {review_id} has no order")
            read, order = review_of(seen), order_of(row)
            cart = outcome.draft if action != "reject" else None
            mine = Standing(by=reviewer, at=now.isoformat(), action=action, reason=reason, cart=cart)
            waits = 0 < second_above < _worth(read, outcome) and not _agreed(read, mine)
            kept = _recorded(session, now, read, mine, outcome, waits=waits)
            moved = order if waits else self._moved(session, now, order, outcome)
            changed = _opened(mine) if waits else _decided(mine, now)
            review = _change(session, seen, lease_until=None, **changed)
            told_decision(session, read, kept, by)
            return review, moved

    def _moved(self, session: Session, now: datetime, order: OrderRecord, outcome: Outcome) -> OrderRecord:
        columns = columns_of(order, outcome)
        return move(session, now, order, outcome.event, columns, outcome.detail, tells=self._tells)

    def _existing(self, row: ReviewRow | None, review_id: str) -> ReviewRow:
        row = owned(row, self._shop)
        if row is None:
            raise NotFound(f"No review {review_id}")
        return row

    def _locked(self, session: Session, review_id: str) -> ReviewRow:
        """The row, held to the end of the transaction: on SQLite by BEGIN IMMEDIATE, else by FOR UPDATE."""
        return self._existing(session.get(ReviewRow, review_id, with_for_update=True), review_id)


# As text, as the index of what waits has it.
_UNDECIDED = text(UNDECIDED)


def _free(now: datetime) -> ColumnElement[bool]:
    """Nobody holds it: open, or claimed by somebody whose lease has run out."""
    return and_(_UNDECIDED, or_(ReviewRow.status == "open", ReviewRow.lease_until <= now))


def value_of(review: ReviewRecord) -> int:
    """What the order is worth as the machine proposed it, in minor units; 0 where it proposed nothing."""
    return review.proposed.total if review.proposed else 0


def _worth(review: ReviewRecord, outcome: Outcome) -> int:
    """What the order is worth, as proposed or as decided, whichever is more."""
    return max(value_of(review), outcome.cart.total if outcome.cart else 0)


def _agreed(review: ReviewRecord, mine: Standing) -> bool:
    """Whether another decided the same before: both refused it, or both want the same lines and notes."""
    first = review.standing
    if first is None or first.by == mine.by:
        return False
    if first.cart is None or mine.cart is None:
        return first.cart is mine.cart
    return same_order(first.cart, mine.cart)


def _recorded(
    session: Session, now: datetime, review: ReviewRecord, mine: Standing, outcome: Outcome, *, waits: bool
) -> ReviewRecordRow:
    """Record a decision; `waits`: for another who agrees."""
    detail: dict[str, object] = {"action": mine.action, "version": review.version}
    if review.standing is not None:
        detail |= {"first": review.standing.by, "agreed": _agreed(review, mine)}
    return record_act(
        session,
        now,
        review.id,
        mine.by,
        "awaits_second" if waits else "decided",
        before=review.proposed,
        after=outcome.cart,
        reason=mine.reason,
        detail=detail,
    )


def _locked_order(session: Session, review_id: str) -> OrderRow | None:
    """A review's order; locked before the review, as in OrderStore.cancel, that none wait for each other."""
    order_id = select(ReviewRow.order_id).where(ReviewRow.id == review_id).scalar_subquery()
    return session.scalars(select(OrderRow).where(OrderRow.id == order_id).with_for_update()).one_or_none()


def _opened(standing: Standing) -> dict[str, object]:
    return {"status": "open", "claimed_by": None, "standing": standing.model_dump(mode="json")}


def _decided(by: Standing, now: datetime) -> dict[str, object]:
    decided = {"decision": by.action, "decided_by": by.by, "decided_at": now, "reason": by.reason}
    return {"status": "decided", **decided}


def _must_be_free(seen: ReviewRow, reviewer: str, now: datetime) -> None:
    if seen.status not in ("open", "claimed"):
        raise Conflict(f"The review is {seen.status}")
    if seen.standing is not None and seen.standing["by"] == reviewer:
        raise Conflict(
            "You have already decided on this order", hint="It needs a second approval by a colleague."
        )
    if seen.status == "claimed" and seen.claimed_by != reviewer and _live(seen, now):
        raise Conflict(
            f"{seen.claimed_by} has this review", hint="Take another one, or wait until it's released."
        )


def _may_decide(seen: ReviewRow, reviewer: str, now: datetime, version: int, *, held: bool) -> None:
    check = _must_hold if held else _must_be_free
    check(seen, reviewer, now)
    if seen.version != version:
        raise Conflict(f"The review is at version {seen.version}, not {version}")


def _must_hold(seen: ReviewRow, reviewer: str, now: datetime) -> None:
    if seen.status not in ("open", "claimed"):
        raise Conflict(f"The review is {seen.status}")
    if seen.status == "open" or (seen.claimed_by == reviewer and not _live(seen, now)):
        raise Conflict("This review isn't assigned to you", hint="Take it again, check it, then decide.")
    if seen.claimed_by != reviewer:
        raise Conflict(f"{seen.claimed_by} has this review")


def _live(row: ReviewRow, now: datetime) -> bool:
    return row.lease_until is not None and row.lease_until > now


def _change(session: Session, seen: ReviewRow, **columns: object) -> ReviewRecord:
    row = swap(session, ReviewRow, seen.id, seen.version, **columns)
    if row is None:  # can't be while the row is locked; kept so that no lock is trusted alone
        raise Conflict(f"Review {seen.id} changed in the meantime")
    return review_of(row)
