"""Leases on orders: who may claim, how a hold is prolonged and given back, and what of it is counted.

Counted in `order_codes`, so that `/metrics` shows it, each under the name of its stage:

    dropped     a result that came after its order had moved on
    extra_run   a stage that has to be run again, since its worker died, hung or was stopped
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, or_, text, update
from sqlalchemy.orm import Session

from schemas.lifecycle import STAGES, State
from schemas.records.orders import OrderRecord
from services.storage.base.changes import swap
from services.storage.base.tables import WAITS, CodeRow, OrderRow


def claimable(now: datetime) -> tuple[ColumnElement[bool], ...]:
    """Nobody holds it, and it is time."""
    return (
        or_(OrderRow.lease_until.is_(None), OrderRow.lease_until <= now),
        or_(OrderRow.next_attempt_at.is_(None), OrderRow.next_attempt_at <= now),
    )


def first_hold(order: OrderRecord, until: datetime) -> dict[str, Any]:
    """The columns by which the worker of a claimed order holds it for its next stage, too."""
    return {"attempt": 1, "lease_owner": order.lease_owner, "lease_until": until}


def renew(session: Session, order: OrderRecord, until: datetime) -> bool:
    """Hold a claimed order until then. Also past its lease, as long as nobody else has claimed it."""
    row = swap(
        session,
        OrderRow,
        order.id,
        order.version,
        OrderRow.lease_owner == order.lease_owner,
        version=order.version,
        lease_until=until,
    )
    return row is not None


def free(
    session: Session, now: datetime, *which: ColumnElement[bool], **columns: Any
) -> list[tuple[str, State]]:
    """Give held orders back. The version grows, so that a result that turns up after all is dropped."""
    freed = session.execute(
        update(OrderRow)
        # No other is held, and what waits in a state of a later release is that one's to free.
        .where(text(WAITS), *which)
        .values(lease_owner=None, lease_until=None, version=OrderRow.version + 1, updated_at=now, **columns)
        .returning(OrderRow.id, OrderRow.version, OrderRow.state)
    ).all()
    for order_id, version, state in freed:
        count(session, now, order_id, version, "extra_run", State(state))
    return [(order_id, State(state)) for order_id, _, state in freed]


def count(session: Session, now: datetime, order_id: str, seq: int, kind: str, state: State) -> None:
    """Count one `kind` for the stage that `state` waits for; the same one twice is one."""
    session.merge(CodeRow(order_id=order_id, seq=seq, kind=kind, code=STAGES[state], at=now))
