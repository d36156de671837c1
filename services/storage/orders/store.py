"""Orders: stored once, claimed by one worker at a time, moved only along the transition table."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from sqlalchemy import delete, literal, select, text, tuple_, update

from infra.sql.database import Database, UtcDateTime
from schemas.errors import Conflict, InputError, NotFound
from schemas.lifecycle import STATUS, TERMINAL, Event, State, advance
from schemas.order import OrderError
from schemas.records.orders import Idempotency, NewOrder, OrderRecord, Outcome, StoredEvent
from schemas.review import ReviewReason
from schemas.shops.access import EVERY_SHOP
from services.storage.base.changes import (
    IDLE,
    glancing,
    move,
    reading,
    record_event,
    swap_order,
    withdraw_review,
    writing,
)
from services.storage.base.ids import cursor_after, new_id, parse_cursor
from services.storage.base.mapping import codes_of, columns_of, document_of, event_of, order_of
from services.storage.base.scoping import database_of, of_shop, owned
from services.storage.base.tables import WAITS, EventRow, IdempotencyRow, OrderRow, ReviewRow
from services.storage.orders import counts, leases, replays, turns
from services.storage.orders.claims import take, take_next
from services.storage.orders.intake import KeyTaken, first_order, insert_key, insert_order

MAX_SEQ = 2**31 - 1


class OrderStore:
    """Orders of one shop. Every call is one transaction, and may raise StorageUnavailable beside what it
    names; what belongs to another shop is not there."""

    def __init__(self, database: Database, shop: str, tells: frozenset[str] = frozenset()) -> None:
        """`shop`: whose orders; workers ask for `EVERY_SHOP`. `tells`: types of the messages that are written
        to the outbox; see `schemas/shops/webhook.py`."""
        self._database = database_of(database, shop)
        self._shop = shop
        self._tells = tells

    def create(
        self, new: NewOrder, *, order_id: str | None = None, idempotency: Idempotency | None = None
    ) -> tuple[OrderRecord, bool]:
        """Store an order with its first event and its idempotency key; True when it was stored now.

        The same key with the same body gives the order of the first call, as it is now, and False.

        Raises:
            IdempotencyMismatch: the key was used with another body.
            Conflict: `order_id` exists.
            InputError: neither a recording nor a transcript.
            ValueError: this store is bound to no shop.
        """
        if self._shop == EVERY_SHOP:
            raise ValueError("an order is one shop's")
        if new.audio_key is None and new.transcript is None:
            raise InputError("An order needs a recording or a transcript")
        try:
            with writing(self._database) as (session, now):
                if order_id is not None and session.get(OrderRow, order_id) is not None:
                    raise Conflict(f"Order {order_id} exists")
                order = insert_order(session, now, new, self._shop, order_id or new_id("ord"))
                if idempotency is not None:
                    insert_key(session, now, idempotency, self._shop, order.id)
                return order, True
        except KeyTaken:
            assert idempotency is not None
            with reading(self._database) as session:
                return order_of(first_order(session, idempotency, self._shop)), False

    def get(self, order_id: str) -> OrderRecord:
        """One order.

        Raises:
            NotFound: no such order.
        """
        with glancing(self._database) as session:
            return order_of(self._existing(session.get(OrderRow, order_id), order_id))

    def page(
        self, *, status: str | None, cursor: str | None, limit: int
    ) -> tuple[list[OrderRecord], str | None]:
        """Up to `limit` orders, newest first, and the cursor to the next page, None on the last.

        Raises:
            InputError: an unknown status, or not a cursor of ours.
        """
        states = list[State]()
        query = select(OrderRow).where(of_shop(OrderRow, self._shop)).limit(limit + 1)
        query = query.order_by(OrderRow.created_at.desc(), OrderRow.id.desc())
        if status is not None:
            states = [state for state, shown in STATUS.items() if shown == status]
            if not states:
                raise InputError(
                    f"No status {status!r}", hint=f"One of {', '.join(dict.fromkeys(STATUS.values()))}."
                )
        if cursor is not None:
            at, key = parse_cursor(cursor)
            query = query.where(
                tuple_(OrderRow.created_at, OrderRow.id) < tuple_(literal(at, UtcDateTime), literal(key))
            )
        with reading(self._database) as session:
            if status is not None:
                query = query.where(OrderRow.state.in_(counts.named(session, states)))
            orders = [order_of(row) for row in session.scalars(query)]
        if len(orders) <= limit:
            return orders, None
        last = orders[limit - 1]
        return orders[:limit], cursor_after(last.created_at, last.id)

    def claim_next(self, expected: State, *, owner: str, lease_s: float) -> OrderRecord | None:
        """Take the order in `expected` whose turn it is (`turns.py`), as `claim` does; None where none waits
        that may be taken."""
        return take_next(self._database, self._shop, expected, owner, lease_s)

    def claim(self, order_id: str, expected: State, *, owner: str, lease_s: float) -> OrderRecord | None:
        """Take an order for `lease_s` seconds, if it is in `expected`, due, and nobody holds it; else None.

        The attempt is counted here, so that a worker killed in the middle has used one up.
        `updated_at` stays, for it is in indexes, and nothing has happened to the order but its lease.
        """
        with writing(self._database) as (session, now):
            return take(session, now, self._shop, order_id, expected, owner, lease_s)

    def renew(self, order: OrderRecord, lease_s: float) -> bool:
        """Hold a claimed order for `lease_s` seconds from now; False when it is no longer ours.

        Neither version nor `updated_at` changes: nothing has happened to the order.
        """
        with writing(self._database) as (session, now):
            until = now + timedelta(seconds=lease_s)
            return leases.renew(session, order, until)

    def holds(self, order: OrderRecord) -> bool:
        """Return whether a claimed order is still its worker's, as it was claimed."""
        query = select(OrderRow.id).where(
            OrderRow.id == order.id,
            OrderRow.version == order.version,
            OrderRow.lease_owner == order.lease_owner,
        )
        with glancing(self._database) as session:
            return session.scalar(query) is not None

    def drop(self, order: OrderRecord) -> None:
        """Count the result of a stage that came too late, under the version that it was claimed at."""
        with writing(self._database) as (session, now):
            turns.end(session, now, order)
            leases.count(session, now, order.id, order.version, "dropped", order.state)

    def commit(self, order: OrderRecord, outcome: Outcome, *, hold_s: float | None = None) -> OrderRecord:
        """Store what a stage found and move the order on; opens its review when that is where it goes.

        With `hold_s` the order stays with its worker, for so many seconds, as the first attempt of the stage
        that follows.

        Raises:
            StaleState: the order changed since it was claimed, or can't move so. Nothing is stored.
        """
        with writing(self._database) as (session, now):
            columns = columns_of(order, outcome)
            if hold_s is not None:
                columns |= leases.first_hold(order, now + timedelta(seconds=hold_s))
            codes, tells = codes_of(outcome), self._tells
            moved = move(
                session, now, order, outcome.event, columns, outcome.detail, codes,
                tells=tells, by=order, refused=outcome.refused,
            )  # fmt: skip
            turns.end(session, now, order)
            return moved

    def release(self, order: OrderRecord, *, retry_in_s: float, detail: dict[str, Any]) -> None:
        """Give a claimed order back, due again in `retry_in_s` seconds; the attempts stay counted.

        Raises:
            StaleState: the order changed since it was claimed. Nothing is stored.
        """
        with writing(self._database) as (session, now):
            due = now + timedelta(seconds=retry_in_s)
            free = {"lease_owner": None, "lease_until": None, "next_attempt_at": due, "updated_at": now}
            row = swap_order(session, order, free)
            code = detail.get("code")
            codes = [("failure", str(code))] if code else ()
            record_event(session, row, "retry", now, detail, codes, by=order)
            turns.end(session, now, order)

    def hand_back(self, order: OrderRecord, *, retry_in_s: float) -> None:
        """Give a claimed order back as it was, in its place and with no attempt used, due in so many seconds.

        Raises:
            StaleState: the order changed since it was claimed. Nothing is stored.
        """
        with writing(self._database) as (session, now):
            columns = {"attempt": order.attempt - 1, "lease_owner": None, "lease_until": None}
            due = now + timedelta(seconds=retry_in_s) if retry_in_s else None
            swap_order(session, order, columns | {"next_attempt_at": due})
            turns.end(session, now, order)

    def abandon(self, order: OrderRecord, error: OrderError) -> State:
        """End a claimed order in its error state by the columns of that alone, where nothing else of it can
        be stored: no message is written, and nothing that was found.

        Raises:
            StaleState: the order changed since it was claimed. Nothing is stored.
        """
        with writing(self._database) as (session, now):
            state = advance(order.state, Event.BROKE)
            columns = IDLE | {"state": state.value, "updated_at": now, "error": document_of(error)}
            row = swap_order(session, order, columns)
            detail = {"code": error.code}
            codes = [("failure", error.code)]
            record_event(session, row, Event.BROKE.value, now, detail, codes, by=order)
            return state

    def cancel(self, order_id: str) -> OrderRecord:
        """End an order that is waiting, worked on or in review, and let go of its recording; one that is
        cancelled stays so.

        Raises:
            NotFound: no such order.
            Conflict: it has ended otherwise.
        """
        with writing(self._database) as (session, now):
            row = self._existing(session.get(OrderRow, order_id, with_for_update=True), order_id)
            order = order_of(row)
            if order.state is State.CANCELLED:
                return order
            if order.state in TERMINAL:
                raise Conflict(f"The order is already {STATUS[order.state]}")
            cancelled = move(session, now, order, Event.CANCELLED, tells=self._tells)
            withdraw_review(session, order_id)
            return cancelled

    def answer(self, order: OrderRecord, outcome: Outcome) -> OrderRecord:
        """Move an order in review on by the customer's answer, unless a reviewer is at it. While it stays in
        review, it keeps its place in the queue, with the cart as it is now.

        Raises:
            Conflict: a reviewer holds the review now.
            StaleState: the order has moved on. Nothing is stored.
        """
        with writing(self._database) as (session, now):
            columns = columns_of(order, outcome)
            moved = move(session, now, order, outcome.event, columns, outcome.detail, tells=self._tells)
            held = select(ReviewRow.id).where(
                ReviewRow.order_id == order.id, ReviewRow.status == "claimed", ReviewRow.lease_until > now
            )
            if session.scalars(held).first() is not None:
                raise Conflict("A reviewer has claimed this order", hint="Wait for the reviewer's decision.")
            if moved.state is State.IN_REVIEW:
                session.execute(
                    update(ReviewRow)
                    .where(ReviewRow.order_id == order.id)
                    .values(version=ReviewRow.version + 1, proposed=document_of(moved.cart))
                )
            else:
                withdraw_review(session, order.id)
            return moved

    def due(self, *, limit: int, idle_s: float) -> list[tuple[str, State]]:
        """Orders that wait for a worker, are due, and that nobody touched for `idle_s` s; oldest first.

        The pause gives an order that was stored a moment ago the time to be rung for.
        """
        with reading(self._database) as session:
            now = self._database.now(session)
            rows = session.execute(
                select(OrderRow.id, OrderRow.state)
                .where(
                    text(WAITS),
                    OrderRow.updated_at <= now - timedelta(seconds=idle_s),
                    *leases.claimable(now),
                )
                .order_by(OrderRow.updated_at, OrderRow.id)
                .limit(limit)
            )
            return [(order_id, State(state)) for order_id, state in rows]

    def events(self, order_id: str, *, after: int = 0) -> list[StoredEvent]:
        """The history with `seq` over `after`, in order; empty for an order that does not exist."""
        query = select(EventRow).where(EventRow.order_id == order_id, EventRow.seq > min(after, MAX_SEQ))
        if self._shop != EVERY_SHOP:
            query = query.join(OrderRow).where(of_shop(OrderRow, self._shop))
        with glancing(self._database) as session:
            return [event_of(row) for row in session.scalars(query.order_by(EventRow.seq))]

    def traceparents(self, order_ids: Iterable[str]) -> dict[str, str | None]:
        """Where the acceptance of each of these orders stands in its trace; None where it was not traced."""
        query = select(OrderRow.id, OrderRow.traceparent)
        query = query.where(OrderRow.id.in_(order_ids), of_shop(OrderRow, self._shop))
        with glancing(self._database) as session:
            return {order_id: found for order_id, found in session.execute(query)}

    def counts(self) -> dict[State, int]:
        """How many orders are in each state, zeros included."""
        with reading(self._database) as session:
            return counts.states(session)

    def event_counts(self) -> dict[str, int]:
        """How often each type of event happened in the last 24 hours; outages and retries show up here."""
        with reading(self._database) as session:
            return counts.events(session, self._database.clock(counts.LATELY_S))

    def code_counts(self) -> dict[tuple[str, str], int]:
        """How often each (kind, code) came up in the last 24 hours; kinds as in `mapping.codes_of`."""
        with reading(self._database) as session:
            return counts.codes(session, self._database.clock(counts.LATELY_S))

    def free_leases(self) -> int:
        """Give back every order that is held, when it is certain that no worker lives; how many.

        The version grows, so a result that turned up after all would be dropped.
        """
        with writing(self._database) as (session, now):
            return len(leases.free(session, now, OrderRow.lease_until.is_not(None)))

    def release_all(self, owner: str) -> list[tuple[str, State]]:
        """Give back what a worker and its children hold, owners `owner:...`, as it stops; which orders.

        Their attempts are given back too: that a worker is stopped says nothing about an order.
        """
        with writing(self._database) as (session, now):
            mine = OrderRow.lease_owner.startswith(f"{owner}:", autoescape=True)
            return leases.free(session, now, mine, attempt=OrderRow.attempt - 1)

    def replay(self, order_id: str) -> OrderRecord:
        """Send an order that failed or is in review through again, by the stage that it still has input for.

        Raises:
            NotFound: no such order.
            Conflict: it is elsewhere, or a reviewer holds it.
        """
        with writing(self._database) as (session, now):
            row = self._existing(session.get(OrderRow, order_id, with_for_update=True), order_id)
            return replays.replay(session, now, row)

    def failed(self, since_s: float | None = None) -> list[str]:
        """Orders in their error state, of the last `since_s` seconds or all; longest there first."""
        with reading(self._database) as session:
            after = None if since_s is None else self._database.now(session) - timedelta(seconds=since_s)
            return replays.failed(session, after)

    def doubted(self, reason: ReviewReason) -> list[str]:
        """Orders in review for `reason`, whatever others there are, that no reviewer holds; oldest first."""
        with reading(self._database) as session:
            return replays.doubted(session, self._database.now(session), reason)

    def sent_back(self, order: OrderRecord) -> int:
        """How often the order's customer was asked to say it again in the last hour."""
        with reading(self._database) as session:
            return replays.sent_back(session, self._database.clock(3600), order)

    def waits_for(self, order: OrderRecord) -> str | None:
        """The id of an order that could not be claimed while this one was in hand; see `turns.py`."""
        if not turns.holds_others_back(order):
            return None
        with reading(self._database) as session:
            return turns.waits_for(session, self._database.now(session), order)

    def forget_turns(self, older_than_s: float) -> int:
        """Drop the clocks of shops and sources that had no order for so many seconds; how many there were."""
        with writing(self._database) as (session, now):
            return turns.forget(session, now, older_than_s)

    def forget_keys(self, older_than_s: float) -> int:
        """Drop idempotency keys older than so many seconds; how many there were."""
        with writing(self._database) as (session, now):
            old = IdempotencyRow.created_at < now - timedelta(seconds=older_than_s)
            gone = session.execute(delete(IdempotencyRow).where(old).returning(IdempotencyRow.key))
            return len(gone.all())

    def _existing(self, row: OrderRow | None, order_id: str) -> OrderRow:
        row = owned(row, self._shop)
        if row is None:
            raise NotFound(f"No order {order_id}")
        return row
