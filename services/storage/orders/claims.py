"""Claims, leases and releases of orders by workers, which count attempts and seconds of work."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from sqlalchemy import delete, not_, select, text, update
from sqlalchemy.orm import Session

from infra.sql.database import Database
from schemas.lifecycle import Event, State, advance
from schemas.order import OrderError
from schemas.records.orders import OrderRecord
from services.storage.base.changes import FREE, IDLE, record_event, swap, swap_order, writing
from services.storage.base.mapping import order_of
from services.storage.base.scoping import OfShop
from services.storage.base.tables import WAITS, OrderRow, TurnRow
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
        """Claim the order in `expected` that is next (`turns.py`) for `lease_s` seconds; None if there is
        nothing to claim."""
        for _ in range(_CLAIM_TRIES):
            with writing(self._database) as (session, now):
                shop = turns.next_shop(session, now, expected, self._shop, self._page_s)
                if shop is None:
                    return None
                order_id = turns.next_order(session, now, expected, shop, self._page_s)
                if order_id is not None:
                    return claimed(session, now, order_id, owner, timedelta(seconds=lease_s))
        return None

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

    def release(self, order: OrderRecord, *, retry_in_s: float, code: str | None) -> None:
        """Release a claimed order for a retry in `retry_in_s` seconds because of the error `code`. None: its
        menu is new to the model (`turns.py`), and no attempt is used up.

        Raises:
            StaleState: the order changed since it was claimed.
        """
        with writing(self._database) as (session, now):
            columns = FREE | {"next_attempt_at": now + timedelta(seconds=retry_in_s)}
            if code is None:
                swap_order(session, order, columns | {"attempt": order.attempt - 1})
            else:
                row = swap_order(session, order, columns | {"updated_at": now})
                record_event(session, row, "retry", now, {"code": code})
            turns.end(session, now, order, menu=code is None)

    def abandon(self, order: OrderRecord, error: OrderError) -> OrderRecord:
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
            return order_of(row)

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

    def release_all(self, owner: str) -> list[tuple[str, State]]:
        """Release and return the orders held by a stopping worker and its children (`owner:...`), without
        using up an attempt. The version grows, so that late results are dropped."""
        is_owner = OrderRow.lease_owner.startswith(f"{owner}:", autoescape=True)
        columns = FREE | {"version": OrderRow.version + 1, "attempt": OrderRow.attempt - 1}
        with writing(self._database) as (session, now):
            rows = session.execute(
                update(OrderRow)
                .where(text(WAITS), is_owner)
                .values(updated_at=now, **columns)
                .returning(OrderRow.id, OrderRow.state)
            ).all()
        return [(order_id, State(state)) for order_id, state in rows]

    def forget_turns(self, older_than_s: float) -> int:
        """Delete the clocks of shops and sources without an order for so long; return how many."""
        with writing(self._database) as (session, now):
            old = TurnRow.at < now - timedelta(seconds=older_than_s)
            return len(session.execute(delete(TurnRow).where(old).returning(TurnRow.source)).all())


def claimed(session: Session, now: datetime, order_id: str, owner: str, lease: timedelta) -> OrderRecord:
    """Claim a locked order. The attempt is counted here, so that one whose worker was killed counts too;
    `updated_at` doesn't change, since it is indexed."""
    row = session.get_one(OrderRow, order_id)
    due = max(at for at in (row.updated_at, row.lease_until, row.next_attempt_at) if at)
    if row.lease_until is not None:  # of a worker that is dead or hangs
        turns.end(session, now, order_of(row), seen=row.lease_until - lease)
    row.version, row.attempt = row.version + 1, row.attempt + 1
    row.lease_owner, row.lease_until, row.claimed_at = owner, now + lease, now
    order = replace(order_of(row), waited_s=max(0.0, (now - due).total_seconds()))
    turns.begin(session, now, order)
    return order
