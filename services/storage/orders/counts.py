"""How many orders there are in each state, and what happened to orders lately."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from schemas.lifecycle import State
from services.storage.base.tables import CodeRow, EventRow, OrderRow

LATELY_S = 86_400


def states(session: Session) -> dict[State, int]:
    """How many orders are in each state, zeros included."""
    found = {state: 0 for state in State}
    for stored, count in session.execute(select(OrderRow.state, func.count()).group_by(OrderRow.state)):
        found[State.stored(stored)] += count
    return found


def named(session: Session, states: Collection[State]) -> list[str]:
    """The states as rows have them: for `UNKNOWN` whatever stands there that this release does not know."""
    wanted = [state.value for state in states if state is not State.UNKNOWN]
    if State.UNKNOWN not in states:
        return wanted
    stored = session.scalars(select(OrderRow.state).distinct())
    return wanted + [state for state in stored if State.stored(state) is State.UNKNOWN]


def events(session: Session, since: ColumnElement[datetime]) -> dict[str, int]:
    """How often each type of event happened."""
    query = select(EventRow.type, func.count()).where(EventRow.at >= since).group_by(EventRow.type)
    return {kind: count for kind, count in session.execute(query)}


def codes(session: Session, since: ColumnElement[datetime]) -> dict[tuple[str, str], int]:
    """How often each (kind, code) came up."""
    query = select(CodeRow.kind, CodeRow.code, func.count()).where(CodeRow.at >= since)
    return {
        (kind, code): count
        for kind, code, count in session.execute(query.group_by(CodeRow.kind, CodeRow.code))
    }
