"""Claims, leases and releases of orders by workers, which count attempts and seconds of work."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, not_, select, text, update
from sqlalchemy.orm import Session

from infra.sql.database import Database
from schemas.lifecycle import Event, State, advance
from schemas.order import OrderError
from schemas.records.orders import OrderRecord
from schemas.shops.access import is_page
from services.storage.base.changes import IDLE, record_event, swap, swap_order, writing
from services.storage.base.mapping import order_of
from services.storage.base.scoping import OfShop, of_shop
from services.storage.base.tables import WAITS, OrderRow
from services.storage.orders import turns

# Tries of a claim that loses to other workers' claims.
_CLAIM_TRIES = 10


class Claims(OfShop):
    """The part of the order store that workers use."""

    def __init__(self, database: Database, shop: str, *, page_s: float = 0.0) -> None:
        """`page_s`: seconds of work in a minute on orders from pages at one address; 0: unlimited."""
        super().__init__(database, shop)
        self._page_s = page_s

    def claim_next(self, expected: State, *, owner: str, lease_s: float) -> OrderRecord | None:
        """Claim the order in `expected` that is next (`turns.py`); None if there is nothing to claim."""
        for _ in range(_CLAIM_TRIES):
            with writing(self._database) as (session, now):
                shop = turns.next_shop(session, now, expected, self._shop, self._page_s)
                if shop is None:
                    return None
                order_id = turns.next_order(session, now, expected, shop, self._page_s)
                if order_id and (order := self._take(session, now, order_id, expected, owner, lease_s)):
                    return order
        return None

    def claim(self, order_id: str, expected: State, *, owner: str, lease_s: float) -> OrderRecord | None:
        """Claim an order for `lease_s` seconds; None unless it is in `expected`, due, and not held.

        The attempt is counted here, so that one whose worker was killed counts too. `updated_at` doesn't
        change, since it is indexed.
        """
        with writing(self._database) as (session, now):
            return self._take(session, now, order_id, expected, owner, lease_s)

    def _take(
        self, session: Session, now: datetime, order_id: str, expected: State, owner: str, lease_s: float
    ) -> OrderRecord | None:
        query = select(OrderRow).where(OrderRow.id == order_id, of_shop(OrderRow, self._shop))
        if (current := session.scalar(query)) is None:
            return None
        due = max(at for at in (current.updated_at, current.lease_until, current.next_attempt_at) if at)
        row = swap(
            session,
            OrderRow,
            order_id,
            current.version,
            OrderRow.state == expected.value,
            *turns.claimable(now),
            attempt=OrderRow.attempt + 1,
            lease_owner=owner,
            lease_until=now + timedelta(seconds=lease_s),
        )
        if row is None:
            return None
        waited_s = max(0.0, (now - due).total_seconds())
        order = replace(order_of(row), claimed_at=now, waited_s=waited_s)
        turns.begin(session, now, order)
        return order

    def renew(self, order: OrderRecord, lease_s: float) -> bool:
        """Extend the lease of a claimed order; False if the order has changed. A lapsed lease can be extended
        until another worker claims the order. Changes neither version nor `updated_at`."""
        is_owner, version = OrderRow.lease_owner == order.lease_owner, order.version
        with writing(self._database) as (session, now):
            until = now + timedelta(seconds=lease_s)
            row = swap(session, OrderRow, order.id, version, is_owner, version=version, lease_until=until)
            return row is not None

    def holds(self, order: OrderRecord) -> bool:
        """Return True if a claimed order hasn't changed and is still held by its worker."""
        query = select(OrderRow.id).where(
            OrderRow.id == order.id,
            OrderRow.version == order.version,
            OrderRow.lease_owner == order.lease_owner,
        )
        with self._database.glance() as session:
            return session.scalar(query) is not None

    def release(self, order: OrderRecord, *, retry_in_s: float, detail: dict[str, Any]) -> None:
        """Release a claimed order for a retry in `retry_in_s` seconds; the attempt counts.

        Raises:
            StaleState: the order changed since it was claimed.
        """
        with writing(self._database) as (session, now):
            due = now + timedelta(seconds=retry_in_s)
            released = {"lease_owner": None, "lease_until": None, "next_attempt_at": due, "updated_at": now}
            row = swap_order(session, order, released)
            record_event(session, row, "retry", now, detail)
            turns.end(session, now, order)

    def hand_back(self, order: OrderRecord, *, retry_in_s: float) -> None:
        """Release a claimed order whose menu is new to the model; no attempt is used up. See `turns.py`.

        Raises:
            StaleState: the order changed since it was claimed.
        """
        with writing(self._database) as (session, now):
            columns = {"attempt": order.attempt - 1, "lease_owner": None, "lease_until": None}
            due = now + timedelta(seconds=retry_in_s)
            swap_order(session, order, columns | {"next_attempt_at": due})
            turns.end(session, now, order, menu=True)

    def abandon(self, order: OrderRecord, error: OrderError) -> State:
        """End a claimed order in its error state without a result or messages, neither of which could be
        stored.

        Raises:
            StaleState: the order changed since it was claimed.
        """
        with writing(self._database) as (session, now):
            state = advance(order.state, Event.BROKE)
            columns = IDLE | {"state": state.value, "updated_at": now, "error": error}
            row = swap_order(session, order, columns)
            record_event(session, row, Event.BROKE.value, now, {"code": error.code})
            turns.end(session, now, order)
            return state

    def due(self, *, limit: int, idle_s: float) -> list[tuple[str, State]]:
        """List orders that can be claimed and haven't changed for `idle_s` seconds, oldest first; until then
        their own notification may still be on its way."""
        query = select(OrderRow.id, OrderRow.state).order_by(OrderRow.updated_at, OrderRow.id).limit(limit)
        with self._database.read() as session:
            now = self._database.now(session)
            idle = OrderRow.updated_at <= now - timedelta(seconds=idle_s)
            free = not_(turns.held_back(session, now, self._page_s))
            rows = session.execute(query.where(text(WAITS), idle, *turns.claimable(now), free))
            return [(order_id, State(state)) for order_id, state in rows]

    def free_leases(self) -> int:
        """Release all held orders, when it is certain that no worker is alive; return how many."""
        return len(self._free(OrderRow.lease_until.is_not(None)))

    def release_all(self, owner: str) -> list[tuple[str, State]]:
        """Release and return the orders held by a stopping worker and its children (`owner:...`), without
        using up an attempt."""
        is_owner = OrderRow.lease_owner.startswith(f"{owner}:", autoescape=True)
        return self._free(is_owner, attempt=OrderRow.attempt - 1)

    def _free(self, which: ColumnElement[bool], **columns: Any) -> list[tuple[str, State]]:
        """Release orders under a new version, so that their workers' late results are dropped."""
        columns |= {"lease_owner": None, "lease_until": None, "version": OrderRow.version + 1}
        with writing(self._database) as (session, now):
            rows = session.execute(
                update(OrderRow)
                .where(text(WAITS), which)
                .values(updated_at=now, **columns)
                .returning(OrderRow.id, OrderRow.state)
            ).all()
        return [(order_id, State(state)) for order_id, state in rows]

    def waits_for(self, order: OrderRecord) -> tuple[str, float] | None:
        """Return the id of an order that couldn't be claimed while this one was held, and in how many seconds
        it can be; None if there is none. See `turns.py`."""
        if not is_page(order.source):
            return None
        with self._database.read() as session:
            return turns.waits_for(session, self._database.now(session), order, self._page_s)

    def charge(self, order: OrderRecord) -> None:
        """Count the work on a claimed order whose result is dropped, as for one that is stored."""
        with writing(self._database) as (session, now):
            turns.end(session, now, order)

    def forget_turns(self, older_than_s: float) -> int:
        """Delete the clocks of shops and sources without an order for so long; return how many."""
        with writing(self._database) as (session, now):
            return turns.forget(session, now, older_than_s)
