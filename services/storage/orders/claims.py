"""How a worker takes an order: compare-and-set, the attempt counted, and its turn begun."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from infra.sql.database import Database
from schemas.lifecycle import State
from schemas.records.orders import OrderRecord
from services.storage.base.changes import swap, writing
from services.storage.base.mapping import order_of
from services.storage.base.scoping import of_shop
from services.storage.base.tables import OrderRow
from services.storage.orders import leases, turns

# Of a claim that other claims come before.
_CLAIM_TRIES = 10


def take_next(
    database: Database, shop: str, expected: State, owner: str, lease_s: float
) -> OrderRecord | None:
    """Take the order in `expected` whose turn it is (`turns.py`); None where none waits that may be taken."""
    for _ in range(_CLAIM_TRIES):
        with writing(database) as (session, now):
            whose = turns.next_shop(session, now, expected, shop)
            if whose is None:
                return None
            order_id = turns.next_order(session, now, expected, whose)
            if order_id and (order := take(session, now, whose, order_id, expected, owner, lease_s)):
                return order
    return None


def take(
    session: Session, now: datetime, shop: str, order_id: str, expected: State, owner: str, lease_s: float
) -> OrderRecord | None:
    """Take an order of the shop for `lease_s` seconds, if it is in `expected`, due, and nobody holds it."""
    seen = session.scalar(select(OrderRow).where(OrderRow.id == order_id, of_shop(OrderRow, shop)))
    if seen is None:
        return None
    # A lease that ran out: whoever had it was stopped in the middle, or hangs.
    held_before = seen.lease_owner is not None
    due = max(at for at in (seen.updated_at, seen.lease_until, seen.next_attempt_at) if at)
    row = swap(
        session,
        OrderRow,
        order_id,
        seen.version,
        OrderRow.state == expected.value,
        *leases.claimable(now),
        attempt=OrderRow.attempt + 1,
        lease_owner=owner,
        lease_until=now + timedelta(seconds=lease_s),
    )
    if row is None:
        return None
    if held_before:
        leases.count(session, now, row.id, row.version, "extra_run", expected)
    waited_s = max(0.0, (now - due).total_seconds())
    order = replace(order_of(row), claimed_at=now, waited_s=waited_s)
    turns.begin(session, now, order)
    return order
