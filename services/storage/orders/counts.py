"""How many orders there are in each state, and what happened to orders lately."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from schemas.lifecycle import State
from services.storage.base.changes import reading
from services.storage.base.tables import CodeRow, EventRow, OrderRow
from services.storage.orders.bound import OrdersOfShop

_LATELY_S = 86_400


class Counts(OrdersOfShop):
    """The part of the order store that `/metrics` asks."""

    def counts(self) -> dict[State, int]:
        """How many orders are in each state, zeros included."""
        found = {state: 0 for state in State}
        with reading(self._database) as session:
            for stored, count in session.execute(
                select(OrderRow.state, func.count()).group_by(OrderRow.state)
            ):
                found[State.stored(stored)] += count
        return found

    def event_counts(self) -> dict[str, int]:
        """How often each type of event happened in the last 24 hours; outages and retries show up here."""
        since = self._database.clock(_LATELY_S)
        query = select(EventRow.type, func.count()).where(EventRow.at >= since).group_by(EventRow.type)
        with reading(self._database) as session:
            return {kind: count for kind, count in session.execute(query)}

    def code_counts(self) -> dict[tuple[str, str], int]:
        """How often each (kind, code) came up in the last 24 hours; kinds as in `mapping.codes_of`."""
        query = select(CodeRow.kind, CodeRow.code, func.count()).group_by(CodeRow.kind, CodeRow.code)
        query = query.where(CodeRow.at >= self._database.clock(_LATELY_S))
        with reading(self._database) as session:
            return {(kind, code): count for kind, code, count in session.execute(query)}


def named(session: Session, states: Collection[State]) -> list[str]:
    """The states as rows have them: for `UNKNOWN` whatever stands there that this release does not know."""
    wanted = [state.value for state in states if state is not State.UNKNOWN]
    if State.UNKNOWN not in states:
        return wanted
    stored = session.scalars(select(OrderRow.state).distinct())
    return wanted + [state for state in stored if State.stored(state) is State.UNKNOWN]
