"""Partitions of `order_events` on PostgreSQL: made ahead by week, and dropped once all their orders are gone.

An id sorts by age and is first in the key of events, so that a range of ids is a week (ADR 65). What belongs
to no week, because none was made in time or because its id is not ours, is in `order_events_rest`: an event
always has a place. The functions that make and drop are the tables' owner's (migration 0020).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import attrgetter

import structlog
from sqlalchemy import TextClause, literal, select, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from infra.sql.database import Database
from services.storage.base.changes import changing, reading
from services.storage.base.ids import first_id
from services.storage.base.tables import OrderRow

log = structlog.get_logger()

WEEK = timedelta(days=7)
# Weeks after the present one that are there already, should no sweeper run.
AHEAD = 3
# What one step may take; it waits 0.2 s for its locks. Making a week reads what is in the rest.
_STEP_MS = 5_000
_PARTITIONS = text(
    "SELECT c.relname, pg_get_expr(c.relpartbound, c.oid) FROM pg_inherits AS i "
    "JOIN pg_class AS c ON c.oid = i.inhrelid WHERE i.inhparent = to_regclass('order_events')"
)
_ADD = text("SELECT saycart_add_events(:name, :first, :beyond)")
_DROP = text("SELECT saycart_drop_events(:name)")
_RANGE = re.compile(r"FROM \((?:MINVALUE|'([^']*)')\) TO \('([^']*)'\)")
# Somebody holds the table; it takes too long; the rest has events of that week; weeks overlap, where the
# database's collation has digits and letters in another order than ASCII.
_NOT_NOW = {"55P03", "40P01", "57014", "23514", "42P17"}


@dataclass(frozen=True, slots=True)
class Part:
    """A partition: orders from the id `first` on, and before `beyond`."""

    name: str
    first: str
    beyond: str


class EventWeeks:
    """On SQLite there are none, and nothing is done."""

    def __init__(self, database: Database) -> None:
        self._database = database.everywhere()

    def parts(self) -> list[Part]:
        """Those with an end, so all but the rest, oldest first; raises StorageUnavailable."""
        with reading(self._database) as session:
            return _parts(session)

    def keep(self) -> int:
        """Make the weeks to come and drop those that no order is of; how many of both.

        Nobody waits for it longer than 0.2 s: what can't be had is left for the next time, and logged.

        Raises:
            StorageUnavailable: see there.
        """
        if self._database.is_sqlite:
            return 0
        with reading(self._database) as session:
            now = self._database.now(session)
            there = _parts(session)
            empty = [part for part in there if _is_over(part, now) and _is_empty(session, part)]
        dropped = [part.name for part in empty if self._step(_DROP, name=part.name)]
        made = [
            part.name
            for part in weeks(now, 1 + AHEAD)
            if not any(part.first < other.beyond and other.first < part.beyond for other in there)
            and self._step(_ADD, name=part.name, first=part.first, beyond=part.beyond)
        ]
        if dropped or made:
            log.info("events.weeks", made=made, dropped=dropped)
        return len(dropped) + len(made)

    def _step(self, statement: TextClause, **values: str) -> bool:
        try:
            with changing(self._database) as session:
                session.execute(text(f"SET LOCAL statement_timeout = {_STEP_MS}"))
                return _asked(session, statement, values) is not False
        except _NotNow as error:
            log.warning("events.week_waits", week=values["name"], error=str(error))
            return False


class _NotNow(Exception):
    """Left for the next time."""


def _asked(session: Session, statement: TextClause, values: dict[str, str]) -> object:
    try:
        return session.scalar(statement, values)
    except DBAPIError as error:
        if getattr(error.orig, "sqlstate", None) in _NOT_NOW:
            raise _NotNow(str(error.orig).strip()) from error
        raise


def _parts(session: Session) -> list[Part]:
    found = [(name, _RANGE.search(bound)) for name, bound in session.execute(_PARTITIONS)]
    return sorted((Part(name, one[1] or "", one[2]) for name, one in found if one), key=attrgetter("first"))


def weeks(moment: datetime, count: int) -> Iterator[Part]:
    """The week of this moment and those after it, from Monday to Monday, UTC."""
    today = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    for number in range(count):
        monday = today - timedelta(days=today.weekday()) + number * WEEK
        beyond = first_id("ord", monday + WEEK)
        yield Part(f"order_events_{monday:%Y%m%d}", first_id("ord", monday), beyond)


def _is_over(part: Part, now: datetime) -> bool:
    """Whether its last order came a week ago; an API whose clock is behind may still make such ids."""
    return part.beyond < first_id("ord", now - WEEK)


def _is_empty(session: Session, part: Part) -> bool:
    # Orders and no events: an index that retention has emptied costs less to look at than a table.
    within = (OrderRow.id >= part.first) & (OrderRow.id < part.beyond)
    return session.scalar(select(literal(1)).where(within).limit(1)) is None
