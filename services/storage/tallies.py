"""Counts over all history that do not grow dearer with it: what is closed is folded into tallies, once.

A mark says up to which moment rows are folded. A reader takes the tallies and adds the rows from the mark
on, by an index on their time, both in one snapshot. `TallyStore.fold` moves the mark on by a bounded step;
tallies and mark change in one transaction, so a step that is cut off has not happened (ADR 32).

| mark | rows by | tallied |
|---|---|---|
| `history` | `order_events.at` | `event` and its type; the kinds and codes that came with the event |
| `delivered` | `outbox.delivered_at` | `message`, `delivered`; forgetting and replaying take from it |

Orders need no tally of their own: into a state that nothing leaves, an order gets by one event only
(`FINAL_BY`). Those in all other states are counted as they are. So are the codes of leases, which come
without an event and are few.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import InstrumentedAttribute, Session

from infra.database import Database
from schemas.lifecycle import FINAL, FINAL_BY, State
from services.storage import leases
from services.storage.changes import reading, writing
from services.storage.tables import Base, CodeRow, EventRow, OrderRow, OutboxRow, TallyMarkRow, TallyRow

# Seconds before a row may be folded. Rows of transactions that still run are waited for besides; this is for
# what the database can't know: a clock that is set back, and parts that see no other part's transactions.
LAG_S = 60.0
STEP = 5000
LOCK = "tallies"
BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)

Tally = Counter[tuple[str, str]]
"""(kind, code) to how many."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """From a mark, inclusive, to where it may move, exclusive; without an end, all that follows."""

    start: datetime
    end: datetime | None = None

    def holds(self, moment: InstrumentedAttribute[Any]) -> ColumnElement[bool]:
        return moment >= self.start if self.end is None else (moment >= self.start) & (moment < self.end)


class TallyStore:
    """Every call may raise StorageUnavailable. Many may fold at once, each row is counted once."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def fold(self, limit: int = STEP) -> int:
        """Fold the next rows of each kind, about `limit`; how many there were. 0: all that is closed is."""
        return sum(
            self._fold(name, moment, limit, count)
            for name, moment, count in (
                ("history", EventRow.at, _history),
                ("delivered", OutboxRow.delivered_at, _delivered),
            )
        )

    def _fold(
        self,
        name: str,
        moment: InstrumentedAttribute[Any],
        limit: int,
        count: Callable[[Session, Stretch], tuple[int, Tally]],
    ) -> int:
        # Looked for in a read first: an idle sweeper would else take SQLite's one writer at each sweep.
        with reading(self._database) as session:
            if next_stretch(self._database, session, name, moment, limit) is None:
                return 0
        with writing(self._database) as (session, _):
            self._database.lock(session, LOCK)
            stretch = next_stretch(self._database, session, name, moment, limit)
            if stretch is None:
                return 0
            rows, found = count(session, stretch)
            _add(self._database, session, TallyRow, [(*key, number) for key, number in found.items()])
            _advance(self._database, session, name, stretch)
            return rows


def mark(session: Session, name: str) -> datetime:
    """The moment before which all rows are folded."""
    return session.scalar(select(TallyMarkRow.until).where(TallyMarkRow.name == name)) or BEGINNING


def next_stretch(
    database: Database, session: Session, name: str, moment: InstrumentedAttribute[Any], limit: int
) -> Stretch | None:
    """The next closed rows after a mark, about `limit`; None when there are none.

    It ends between two moments: rows of one and the same moment are folded together, however many.
    """
    start, end = mark(session, name), database.quiet_since(session, LAG_S)
    closed = select(moment).where(moment >= start, moment < end).order_by(moment)
    first = session.scalar(closed.limit(1))
    if first is None:
        return None
    beyond = session.scalar(closed.offset(limit).limit(1))
    if beyond == first:
        beyond = session.scalar(closed.where(moment > first).limit(1))
    return Stretch(start, beyond or end)


def states(session: Session) -> dict[State, int]:
    """How many orders are in each state, zeros included."""
    happened = events(session)
    found = {state: 0 for state in State}
    for event, state in FINAL_BY.items():
        found[state] += happened.get(event.value, 0)
    live = [state.value for state in State if state not in FINAL]
    query = select(OrderRow.state, func.count()).where(OrderRow.state.in_(live)).group_by(OrderRow.state)
    return found | {State(state): count for state, count in session.execute(query)}


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


def undeliver(database: Database, session: Session, moments: list[datetime | None]) -> None:
    """Take messages off the tally that were delivered at these moments and are not so any more.

    The caller holds `LOCK` in this transaction since before it looked at them.
    """
    until = mark(session, "delivered")
    gone = sum(moment is not None and moment < until for moment in moments)
    if gone:
        _add(database, session, TallyRow, [("message", "delivered", -gone)])


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
    query = (
        select(CodeRow.kind, CodeRow.code, func.count())
        .join(EventRow, (EventRow.order_id == CodeRow.order_id) & (EventRow.seq == CodeRow.seq))
        .where(stretch.holds(EventRow.at), CodeRow.kind.not_in(leases.KINDS))
        .group_by(CodeRow.kind, CodeRow.code)
    )
    return Tally({(kind, code): count for kind, code, count in session.execute(query)})


def _delivered(session: Session, stretch: Stretch) -> tuple[int, Tally]:
    query = select(func.count()).where(stretch.holds(OutboxRow.delivered_at))
    count = session.scalar(query) or 0
    return count, Tally({("message", "delivered"): count})


def _add(database: Database, session: Session, table: type[Base], rows: list[tuple[Any, ...]]) -> None:
    """Add rows of a key and a count to a table of tallies."""
    kind: Any = table.__table__
    names = [column.name for column in kind.columns]
    statement = (sqlite if database.is_sqlite else postgresql).insert(kind)
    statement = statement.on_conflict_do_update(
        index_elements=list(kind.primary_key), set_={"count": kind.c.count + statement.excluded.count}
    )
    if rows:
        # By key: two that add to the same rows then never wait in a circle.
        session.execute(statement, [dict(zip(names, row, strict=True)) for row in sorted(rows)])


def _advance(database: Database, session: Session, name: str, stretch: Stretch) -> None:
    """Move a mark to the end of what was folded."""
    statement = (sqlite if database.is_sqlite else postgresql).insert(TallyMarkRow)
    values = {"name": name, "until": stretch.end}
    session.execute(
        statement.values(values).on_conflict_do_update(
            index_elements=["name"], set_={"until": statement.excluded.until}
        )
    )
