"""Counts over all history, and what they are made of: tallies of what is closed, and the rows since.

| mark | rows by | tallied |
|---|---|---|
| `history` | `order_events.at` | `event` and its type; the kinds and codes that came with the event |
| `delivered` | `outbox.delivered_at` | `message`, `delivered`; forgetting and replaying take from it |
| `decided` | `review_records.at` | see `review_tallies.py` |

Orders need no tally of their own: into a state that nothing leaves, an order gets by one event only
(`FINAL_BY`). Those in all other states are counted as they are. So are the codes of leases, which come
without an event and are few.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from datetime import datetime

from sqlalchemy import ColumnElement, and_, func, select, text, union_all
from sqlalchemy.orm import Session

from infra.sql.database import Database
from schemas.lifecycle import FINAL_BY, State
from services.storage.base.changes import reading
from services.storage.base.records import Decided
from services.storage.base.scoping import database_of
from services.storage.base.tables import (
    MAY_GO_ON,
    OTHER,
    WAITS,
    CodeRow,
    EventRow,
    OrderRow,
    OutboxRow,
    TallyRow,
)
from services.storage.counts import folding, review_tallies
from services.storage.counts.folding import Source, Stretch, mark
from services.storage.orders import leases

STEP = 5000

Tally = Counter[tuple[str, str]]
"""(kind, code) to how many."""


class TallyStore:
    """Every call may raise StorageUnavailable. Many may fold at once, each row is counted once."""

    def __init__(self, database: Database) -> None:
        self._database = database.everywhere()

    def fold(self, limit: int = STEP) -> int:
        """Fold the next rows of each kind, about `limit`; how many there were. 0: all that is closed is."""
        return sum(folding.fold(self._database, source, limit) for source in SOURCES)

    def decided(self, shop: str, hours: int) -> Decided:
        """What a shop decided in the last `hours` hours of the clock, the one that runs included."""
        with reading(database_of(self._database, shop)) as session:
            return review_tallies.decided(session, shop, self._database.now(session), hours)


def states(session: Session) -> dict[State, int]:
    """How many orders are in each state, zeros included."""
    happened = events(session)
    found = {state: 0 for state in State}
    for event, state in FINAL_BY.items():
        found[state] += happened.get(event.value, 0)
    # Counts by the indexes that have these conditions; together they are all states but `FINAL`.
    live = [
        select(OrderRow.state, func.count()).where(text(which)).group_by(OrderRow.state)
        for which in (WAITS, MAY_GO_ON, OTHER)
    ]
    for stored, count in session.execute(union_all(*live)):
        found[State.stored(stored)] += count
    return found


def named(session: Session, states: Collection[State]) -> list[str]:
    """The states as rows have them: for `UNKNOWN` whatever stands there that this release does not know."""
    wanted = [state.value for state in states if state is not State.UNKNOWN]
    if State.UNKNOWN not in states:
        return wanted
    return wanted + list(session.scalars(select(OrderRow.state).where(text(OTHER)).distinct()))


def events(session: Session) -> dict[str, int]:
    """How often each type of event has happened."""
    tallied = _tallied(session, TallyRow.kind == "event")
    found = tallied + _types(session, Stretch(mark(session, "history")))
    return {code: count for (_, code), count in found.items()}


def codes(session: Session) -> dict[tuple[str, str], int]:
    """How often each (kind, code) has come up."""
    tallied = _tallied(session, TallyRow.kind.not_in(["event", "message"]))
    of_leases = (
        select(CodeRow.kind, CodeRow.code, func.count())
        .where(CodeRow.kind.in_(leases.KINDS))
        .group_by(CodeRow.kind, CodeRow.code)
    )
    live = Tally({(kind, code): count for kind, code, count in session.execute(of_leases)})
    return dict(tallied + live + _codes(session, Stretch(mark(session, "history"))))


def delivered(session: Session) -> int:
    """How many messages are delivered and not forgotten."""
    tallied = _tallied(session, TallyRow.kind == "message")["message", "delivered"]
    return tallied + _delivered(session, Stretch(mark(session, "delivered")))[0]


def undeliver(database: Database, session: Session, moments: Iterable[datetime | None]) -> None:
    """Take messages off the tally that were delivered at these moments and are not so any more.

    The caller holds `folding.LOCK` in this transaction since before it looked at them.
    """
    until = mark(session, "delivered")
    gone = sum(moment is not None and moment < until for moment in moments)
    if gone:
        folding.add(database, session, TallyRow, {("message", "delivered"): -gone})


def _tallied(session: Session, which: ColumnElement[bool]) -> Tally:
    query = select(TallyRow.kind, TallyRow.code, TallyRow.count).where(which)
    return Tally({(kind, code): count for kind, code, count in session.execute(query)})


def _history(session: Session, stretch: Stretch) -> tuple[int, Tally]:
    types = _types(session, stretch)
    return types.total(), types + _codes(session, stretch)


def _types(session: Session, stretch: Stretch) -> Tally:
    query = select(EventRow.type, func.count()).where(stretch.holds(EventRow.at)).group_by(EventRow.type)
    return Tally({("event", kind): count for kind, count in session.execute(query)})


def _codes(session: Session, stretch: Stretch) -> Tally:
    came_with = and_(
        CodeRow.order_id == EventRow.order_id, CodeRow.seq == EventRow.seq, CodeRow.kind.not_in(leases.KINDS)
    )
    # From the few events to their codes. SQLite would go through all codes, in the order of their groups, if
    # the join were not an outer one; the group without a code is left out here.
    query = (
        select(CodeRow.kind, CodeRow.code, func.count())
        .select_from(EventRow)
        .outerjoin(CodeRow, came_with)
        .where(stretch.holds(EventRow.at))
        .group_by(CodeRow.kind, CodeRow.code)
    )
    return Tally({(kind, code): count for kind, code, count in session.execute(query) if kind is not None})


def _delivered(session: Session, stretch: Stretch) -> tuple[int, Tally]:
    count = session.scalar(select(func.count()).where(stretch.holds(OutboxRow.delivered_at))) or 0
    return count, Tally({("message", "delivered"): count})


SOURCES = (
    Source("history", EventRow.at, TallyRow, _history),
    Source("delivered", OutboxRow.delivered_at, TallyRow, _delivered),
    review_tallies.SOURCE,
)
