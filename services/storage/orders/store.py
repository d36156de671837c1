"""The order store: creating, reading, cancelling and completing orders. Claims are in `claims.py`, replays in
`replays.py`."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import delete, func, select, update

from schemas.errors import Conflict
from schemas.lifecycle import STATUS, TERMINAL, Event, State
from schemas.records.orders import (
    Idempotency,
    NewOrder,
    OrderRecord,
    Outcome,
    StoredEvent,
    StoredUtterance,
)
from services.storage.base.changes import move, withdraw_review, writing
from services.storage.base.ids import new_id, page_of, paged
from services.storage.base.mapping import event_of, order_of
from services.storage.base.scoping import of_shop
from services.storage.base.tables import EventRow, IdempotencyRow, OrderRow, ReviewRow
from services.storage.orders import turns
from services.storage.orders.claims import Claims
from services.storage.orders.intake import KeyTaken, added, check_open, first_order, insert_key, insert_order
from services.storage.orders.replays import Replays, check_unclaimed


class OrderStore(Claims, Replays):
    """Orders of one shop. Each call is one transaction. Any call may also raise StorageUnavailable, and
    NotFound for an id that the shop doesn't have."""

    def create(self, new: NewOrder, *, idempotency: Idempotency | None = None) -> tuple[OrderRecord, bool]:
        """Store an order with its first event and its idempotency key. For a repeated key and body, return
        the first call's order as it is now, and False.

        Raises:
            IdempotencyMismatch: the key was used with another body.
        """
        try:
            with writing(self._database) as (session, now):
                order = insert_order(session, now, new, self._shop, new_id("ord"))
                insert_key(session, now, idempotency, order)
                return order, True
        except KeyTaken as taken:
            return first_order(self._database, taken, self._shop), False

    def get(self, order_id: str) -> OrderRecord:
        """Return an order."""
        with self._database.glance() as session:
            return order_of(self._one(session, OrderRow, order_id))

    def page(
        self, *, status: str | None, cursor: str | None, limit: int
    ) -> tuple[list[OrderRecord], str | None]:
        """Return up to `limit` orders, newest first, and the cursor to the next page, None on the last.

        Raises:
            InputError: an invalid cursor.
        """
        query = paged(OrderRow, cursor, limit + 1, newest_first=True).where(of_shop(OrderRow, self._shop))
        if status is not None:
            states = [state for state, shown in STATUS.items() if shown == status]
            unknown = State.UNKNOWN in states
            query = query.where(OrderRow.state.not_in(State) if unknown else OrderRow.state.in_(states))
        with self._database.read() as session:
            return page_of([order_of(row) for row in session.scalars(query)], limit)

    def counts(self) -> dict[State, int]:
        """Count the orders in each state, zeros included."""
        counts = {state: 0 for state in State}
        with self._database.read() as session:
            for stored, count in session.execute(
                select(OrderRow.state, func.count()).group_by(OrderRow.state)
            ):
                counts[State.stored(stored)] += count
        return counts

    def commit(self, order: OrderRecord, outcome: Outcome, *, hold_s: float | None = None) -> OrderRecord:
        """Store a stage's outcome and move the order on. With `hold_s` its worker keeps it for that long, for
        the next stage.

        Raises:
            StaleState: the order changed since it was claimed, or can't move so.
        """
        with writing(self._database) as (session, now):
            held: dict[str, Any] = {}
            if hold_s is not None:
                until = now + timedelta(seconds=hold_s)
                held = {"attempt": 1, "lease_owner": order.lease_owner, "lease_until": until}
            moved = move(session, now, order, outcome, **held)
            turns.end(session, now, order)
            return moved

    def cancel(self, order_id: str, *, completed_s: float = 0) -> OrderRecord:
        """Cancel an order and its review, and release its recordings. A completed order can be cancelled for
        `completed_s` seconds, until the shop takes it. No effect if already cancelled.

        Raises:
            Conflict: it can't be cancelled any more.
        """
        with writing(self._database) as (session, now):
            order = order_of(self._one(session, OrderRow, order_id, hold=True))
            if order.state is State.CANCELLED:
                return order
            if _is_final(order, now, completed_s):
                ended = "taken by the shop" if order.taken_at else f"already {STATUS[order.state]}"
                raise Conflict(f"The order is {ended}", title="The order can't be cancelled any more")
            cancelled = move(session, now, order, Outcome(Event.CANCELLED))
            turns.end(session, now, order, seen=now)
            withdraw_review(session, order_id)
            return cancelled

    def add(
        self, order_id: str, new: StoredUtterance, *, idempotency: Idempotency | None = None
    ) -> tuple[OrderRecord, bool]:
        """Add an utterance to an order that isn't confirmed; it is decoded again and then needs confirmation.
        Drops an open question and the result of a current stage. Idempotency as in `create`.

        Raises:
            Conflict: it accepts no more utterances, see `check_open`.
            IdempotencyMismatch: the key was used with another body.
        """
        try:
            with writing(self._database) as (session, now):
                order = order_of(self._one(session, OrderRow, order_id, hold=True))
                insert_key(session, now, idempotency, order)
                check_open(session, now, order)
                event, columns = added(order, new.model_copy(update={"at": now}))
                moved = move(session, now, order, Outcome(event), **columns)
                turns.end(session, now, order, seen=now)
                withdraw_review(session, order_id)
                return moved, True
        except KeyTaken as taken:
            return first_order(self._database, taken, self._shop), False

    def take(self, order_id: str) -> OrderRecord:
        """Record that the shop is now preparing a completed order; repeated calls have no effect. Raises
        Conflict if it isn't completed."""
        with writing(self._database) as (session, now):
            order = order_of(self._one(session, OrderRow, order_id, hold=True))
            if order.state is not State.COMPLETED:
                raise Conflict(f"The order is {STATUS[order.state]}", title="The order is not completed")
            if order.taken_at:
                return order
            return move(session, now, order, Outcome(Event.TAKEN), taken_at=now)

    def answer(self, order: OrderRecord, outcome: Outcome) -> OrderRecord:
        """Apply a customer's answer to an order in review. If it stays in review, it keeps its place in the
        queue, with the new cart.

        Raises:
            Conflict: a reviewer holds the review.
            StaleState: the order has changed.
        """
        with writing(self._database) as (session, now):
            moved = move(session, now, order, outcome)
            check_unclaimed(session, now, order.id)
            if moved.state is State.IN_REVIEW:
                session.execute(
                    update(ReviewRow)
                    .where(ReviewRow.order_id == order.id)
                    .values(version=ReviewRow.version + 1, proposed=moved.cart, lease_until=now)
                )
            else:
                withdraw_review(session, order.id)
            return moved

    def events(self, order_id: str) -> list[StoredEvent]:
        """Return the history in order; empty for an unknown order."""
        query = select(EventRow).join(OrderRow)
        query = query.where(EventRow.order_id == order_id, of_shop(OrderRow, self._shop))
        with self._database.glance() as session:
            return [event_of(row) for row in session.scalars(query.order_by(EventRow.seq))]

    def forget_keys(self, older_than_s: float) -> int:
        """Delete old idempotency keys; return how many."""
        with writing(self._database) as (session, now):
            old = IdempotencyRow.created_at < now - timedelta(seconds=older_than_s)
            return len(session.execute(delete(IdempotencyRow).where(old).returning(IdempotencyRow.key)).all())


def _is_final(order: OrderRecord, now: datetime, completed_s: float) -> bool:
    """Return True if an order can't be cancelled any more; a completed one can be for `completed_s`."""
    if order.state is not State.COMPLETED:
        return order.state in TERMINAL
    late = not completed_s or now >= order.updated_at + timedelta(seconds=completed_s)
    return late or order.taken_at is not None
