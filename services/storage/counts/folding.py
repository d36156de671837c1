"""Folding closed rows into tallies, each exactly once: marks, stretches, and the one transaction.

A mark says up to which moment rows are folded. A fold takes the rows from the mark to some later moment,
adds their count to the tallies and moves the mark there, all in one transaction: one that is cut off has not
happened. A reader takes the tallies and adds the rows from the mark on, in one snapshot.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, bindparam, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import InstrumentedAttribute, Session

from infra.sql.database import Database, UtcDateTime
from services.storage.base.changes import reading, writing
from services.storage.base.table_base import Base
from services.storage.base.tables import TallyMarkRow

# Seconds before a row may be folded. Rows of transactions that still run are waited for besides; this is for
# what the database can't know: a clock that is set back, and parts that see no other part's transactions.
LAG_S = 60.0
LOCK = "tallies"
BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Stretch:
    """From a mark, inclusive, to where it may move, exclusive; without an end, all that follows."""

    start: datetime
    end: datetime | None = None

    def holds(self, moment: InstrumentedAttribute[Any]) -> ColumnElement[bool]:
        after = moment >= _written(self.start)
        return after if self.end is None else after & (moment < _written(self.end))


def _written(moment: datetime) -> ColumnElement[datetime]:
    """Written into the statement. As a parameter it is unknown to the plan that PostgreSQL keeps after five
    runs: a process that had counted unfolded history kept the plan for that (158 ms a scrape, 300,000
    orders)."""
    return bindparam(None, moment, UtcDateTime, literal_execute=True)


@dataclass(frozen=True, slots=True)
class Source:
    """Rows that are folded: those of `which`, by `moment`, which must be in an index and never change.

    `count` gives how many rows a stretch has, and what to add to `table`: a number for each key. `share` of
    a step's rows are as dear as a whole step of others.
    """

    name: str
    moment: InstrumentedAttribute[Any]
    table: type[Base]
    count: Callable[[Session, Stretch], tuple[int, Mapping[Any, int]]]
    which: tuple[ColumnElement[bool], ...] = ()
    share: float = 1.0


def fold(database: Database, source: Source, limit: int) -> int:
    """Fold the next closed rows, about `limit`; how many there were. Many may fold at once."""
    rows = max(1, int(limit * source.share))
    # Looked for in a read first: an idle sweeper would else take SQLite's one writer at each sweep.
    with reading(database) as session:
        if next_stretch(database, session, source, rows) is None:
            return 0
    with writing(database) as (session, _):
        database.lock(session, LOCK)
        stretch = next_stretch(database, session, source, rows)
        if stretch is None:
            return 0
        folded, found = source.count(session, stretch)
        add(database, session, source.table, found)
        _advance(database, session, source.name, stretch)
        return folded


def mark(session: Session, name: str) -> datetime:
    """The moment before which all rows are folded."""
    return session.scalar(select(TallyMarkRow.until).where(TallyMarkRow.name == name)) or BEGINNING


def next_stretch(database: Database, session: Session, source: Source, rows: int) -> Stretch | None:
    """The next closed rows after the mark, about so many; None when there are none.

    It ends between two moments: rows of one and the same moment are folded together, however many.
    """
    moment = source.moment
    start, end = mark(session, source.name), database.quiet_since(session, LAG_S)
    closed = select(moment).where(*source.which, moment >= start, moment < end).order_by(moment)
    first = session.scalar(closed.limit(1))
    if first is None:
        return None
    beyond = session.scalar(closed.offset(rows).limit(1))
    if beyond == first:
        beyond = session.scalar(closed.where(moment > first).limit(1))
    return Stretch(start, beyond or end)


def add(database: Database, session: Session, table: type[Base], numbers: Mapping[Any, int]) -> None:
    """Add a number to the row of each key; `count` is a table's last column, its key the others."""
    kind: Any = table.__table__
    names = [column.name for column in kind.columns]
    statement = (sqlite if database.is_sqlite else postgresql).insert(kind)
    statement = statement.on_conflict_do_update(
        index_elements=list(kind.primary_key), set_={"count": kind.c.count + statement.excluded.count}
    )
    if numbers:
        rows = [dict(zip(names, (*key, number), strict=True)) for key, number in sorted(numbers.items())]
        session.execute(statement, rows)


def _advance(database: Database, session: Session, name: str, stretch: Stretch) -> None:
    statement = (sqlite if database.is_sqlite else postgresql).insert(TallyMarkRow)
    statement = statement.on_conflict_do_update(
        index_elements=["name"], set_={"until": statement.excluded.until}
    )
    session.execute(statement.values({"name": name, "until": stretch.end}))
