"""Leases on orders: which may be claimed, and what is counted of those that were held.

Counted in `order_codes`, so that `/metrics` shows it, each under the name of its stage:

    dropped     a result that came after its order had moved on
    extra_run   a stage that has to be run again, since its worker died, hung or was stopped
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ColumnElement, or_
from sqlalchemy.orm import Session

from schemas.lifecycle import STAGES, State
from services.storage.base.tables import CodeRow, OrderRow


def claimable(now: datetime) -> tuple[ColumnElement[bool], ...]:
    """It is not held, and it is time."""
    return (
        or_(OrderRow.lease_until.is_(None), OrderRow.lease_until <= now),
        or_(OrderRow.next_attempt_at.is_(None), OrderRow.next_attempt_at <= now),
    )


def count(session: Session, now: datetime, order_id: str, seq: int, kind: str, state: State) -> None:
    """Count one `kind` for the stage that `state` waits for; the same one twice is one."""
    session.merge(CodeRow(order_id=order_id, seq=seq, kind=kind, code=STAGES[state], at=now))
