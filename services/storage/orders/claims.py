"""How a worker takes an order, keeps it and puts it down: compare-and-set, attempts and seconds counted."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, select, text, update
from sqlalchemy.orm import Session

from schemas.lifecycle import Event, State, advance
from schemas.order import OrderError
from schemas.records.orders import OrderRecord
from schemas.shops.access import is_page
from services.storage.base.changes import IDLE, record_event, swap, swap_order, writing
from services.storage.base.mapping import order_of
from services.storage.base.scoping import OfShop, of_shop
from services.storage.base.tables import WAITS, OrderRow
from services.storage.orders import turns

# Of a claim that other claims come before.
_CLAIM_TRIES = 10


class Claims(OfShop):
    """The part of the order store that workers use."""

    def claim_next(self, expected: State, *, owner: str, lease_s: float) -> OrderRecord | None:
        """Take the order in `expected` whose turn it is (`turns.py`), as `claim` does; None where none waits
        that may be taken."""
        for _ in range(_CLAIM_TRIES):
            with writing(self._database) as (session, now):
                shop = turns.next_shop(session, now, expected, self._shop)
                if shop is None:
                    return None
                order_id = turns.next_order(session, now, expected, shop)
                if order_id and (order := self._take(session, now, order_id, expected, owner, lease_s)):
                    return order
        return None

    def claim(self, order_id: str, expected: State, *, owner: str, lease_s: float) -> OrderRecord | None:
        """Take an order for `lease_s` seconds, if it is in `expected`, due, and not held; else None.

        The attempt is counted here, so that a worker killed in the middle has used one up.
        `updated_at` stays, for it is in indexes, and nothing has happened to the order but its lease.
        """
        with writing(self._database) as (session, now):
            return self._take(session, now, order_id, expected, owner, lease_s)

    def _take(
        self, session: Session, now: datetime, order_id: str, expected: State, owner: str, lease_s: float
    ) -> OrderRecord | None:
        mine = OrderRow.id == order_id, of_shop(OrderRow, self._shop)
        if (seen := session.scalar(select(OrderRow).where(*mine))) is None:
            return None
        due = max(at for at in (seen.updated_at, seen.lease_until, seen.next_attempt_at) if at)
        row = swap(
            session,
            OrderRow,
            order_id,
            seen.version,
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
        """Hold a claimed order for `lease_s` seconds from now; False when it is no longer ours. Also past its
        lease, as long as it was not claimed by another.

        Neither version nor `updated_at` changes: nothing has happened to the order.
        """
        mine, version = OrderRow.lease_owner == order.lease_owner, order.version
        with writing(self._database) as (session, now):
            until = now + timedelta(seconds=lease_s)
            row = swap(session, OrderRow, order.id, version, mine, version=version, lease_until=until)
            return row is not None

    def holds(self, order: OrderRecord) -> bool:
        """Return whether a claimed order is still its worker's, as it was claimed."""
        query = select(OrderRow.id).where(
            OrderRow.id == order.id,
            OrderRow.version == order.version,
            OrderRow.lease_owner == order.lease_owner,
        )
        with self._database.glance() as session:
            return session.scalar(query) is not None

    def release(self, order: OrderRecord, *, retry_in_s: float, detail: dict[str, Any]) -> None:
        """Give a claimed order back, due again in `retry_in_s` seconds; the attempts stay counted.

        Raises:
            StaleState: the order changed since it was claimed. Nothing is stored.
        """
        with writing(self._database) as (session, now):
            due = now + timedelta(seconds=retry_in_s)
            free = {"lease_owner": None, "lease_until": None, "next_attempt_at": due, "updated_at": now}
            row = swap_order(session, order, free)
            record_event(session, row, "retry", now, detail)
            turns.end(session, now, order)

    def hand_back(self, order: OrderRecord, *, retry_in_s: float) -> None:
        """Give a claimed order back, due in so many seconds, with no attempt used; see `turns.py`.

        Raises:
            StaleState: the order changed since it was claimed. Nothing is stored.
        """
        with writing(self._database) as (session, now):
            columns = {"attempt": order.attempt - 1, "lease_owner": None, "lease_until": None}
            due = now + timedelta(seconds=retry_in_s)
            swap_order(session, order, columns | {"next_attempt_at": due})
            turns.end(session, now, order, menu=True)

    def abandon(self, order: OrderRecord, error: OrderError) -> State:
        """End a claimed order in its error state by the columns of that alone, where nothing else of it can
        be stored: no message is written, and nothing that was found.

        Raises:
            StaleState: the order changed since it was claimed. Nothing is stored.
        """
        with writing(self._database) as (session, now):
            state = advance(order.state, Event.BROKE)
            columns = IDLE | {"state": state.value, "updated_at": now, "error": error}
            row = swap_order(session, order, columns)
            record_event(session, row, Event.BROKE.value, now, {"code": error.code})
            turns.end(session, now, order)
            return state

    def due(self, *, limit: int, idle_s: float) -> list[tuple[str, State]]:
        """Orders that wait for a worker, are due, and untouched for `idle_s` s; oldest first.

        The pause gives an order that was stored a moment ago the time to be rung for.
        """
        query = select(OrderRow.id, OrderRow.state).order_by(OrderRow.updated_at, OrderRow.id).limit(limit)
        with self._database.read() as session:
            now = self._database.now(session)
            idle = OrderRow.updated_at <= now - timedelta(seconds=idle_s)
            rows = session.execute(query.where(text(WAITS), idle, *turns.claimable(now)))
            return [(order_id, State(state)) for order_id, state in rows]

    def free_leases(self) -> int:
        """Give back every order that is held, when it is certain that no worker lives; how many."""
        return len(self._free(OrderRow.lease_until.is_not(None)))

    def release_all(self, owner: str) -> list[tuple[str, State]]:
        """Give back what a worker and its children hold, owners `owner:...`, as it stops; which orders.

        Their attempts are given back too: that a worker is stopped says nothing about an order.
        """
        mine = OrderRow.lease_owner.startswith(f"{owner}:", autoescape=True)
        return self._free(mine, attempt=OrderRow.attempt - 1)

    def _free(self, which: ColumnElement[bool], **columns: Any) -> list[tuple[str, State]]:
        """Give held orders back. The version grows, so that a result that turns up after all is dropped."""
        columns |= {"lease_owner": None, "lease_until": None, "version": OrderRow.version + 1}
        # Only those that wait are held, and what waits in a state of a later release is that one's to free.
        mine = update(OrderRow).where(text(WAITS), which)
        with writing(self._database) as (session, now):
            freed = session.execute(
                mine.values(updated_at=now, **columns).returning(OrderRow.id, OrderRow.state)
            ).all()
        return [(order_id, State(state)) for order_id, state in freed]

    def waits_for(self, order: OrderRecord) -> str | None:
        """The id of an order that could not be claimed while this one was in hand; see `turns.py`."""
        if not is_page(order.source):
            return None
        with self._database.read() as session:
            return turns.waits_for(session, self._database.now(session), order)

    def forget_turns(self, older_than_s: float) -> int:
        """Drop the clocks of shops and sources that had no order for so many seconds; how many there were."""
        with writing(self._database) as (session, now):
            return turns.forget(session, now, older_than_s)
