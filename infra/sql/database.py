"""The database: transactions, clock, named locks, alike on SQLite and PostgreSQL.

A write on SQLite begins with BEGIN IMMEDIATE: a transaction that reads first and then upgrades to writing is
thrown out at once, busy_timeout or not, as soon as another wrote in between.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from copy import copy
from datetime import datetime
from pathlib import Path

from sqlalchemy import ColumnElement, QueuePool, event, literal_column, select, text
from sqlalchemy.orm import Session

from infra.sql import locks, migrating, row_security
from infra.sql.dialects import (
    BUSY_S,
    OVERFLOW,
    POOL,
    UtcDateTime,
    neutral_errors,
    parse_url,
    postgresql_engine,
    sqlite_engine,
)
from infra.sql.row_security import RowSecurity
from schemas.errors import StorageUnavailable

__all__ = ["Database", "UtcDateTime"]


class Database:
    """One database by URL: `sqlite:///path` or `postgresql://...` (driven by psycopg 3).

    Connects on first use. Not to be carried across a fork: a child makes its own. Rows of shops are reached
    by one of its handles, `bound` or `everywhere`, which share its connections. Whatever asks the database
    may raise StorageUnavailable, and InputError for values that no row can hold.

    Raises:
        ValueError: neither of the two, or SQLite without a file.
    """

    def __init__(self, url: str) -> None:
        self.url = parse_url(url)
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        self._engine = (sqlite_engine if self.is_sqlite else postgresql_engine)(self.url)
        self._writing = threading.Lock()
        self._whose = ""
        self._handles: dict[str, Database] = {}
        self._name_engines()

    def _name_engines(self) -> None:
        """The three ways to begin. They say whose rows are meant, where a shop was named."""
        if self.is_sqlite:
            self._glancer = self._engine
            self._reader = self._engine.execution_options(saycart_begin="BEGIN")
            self._writer = self._engine.execution_options(saycart_begin="BEGIN IMMEDIATE")
            return
        says = row_security.naming(self._whose) if self._whose else ""
        # A read sees one snapshot over all its statements, as it does on SQLite; a write sees what was
        # committed while it waited for a lock. Whose rows are meant is in the message that begins it.
        read, write = (
            f"BEGIN ISOLATION LEVEL {level}; {says}".removesuffix("; ")
            for level in ("REPEATABLE READ READ ONLY", "READ COMMITTED")
        )
        self._glancer = self._engine.execution_options(saycart_says=says) if says else self._engine
        self._reader = self._engine.execution_options(saycart_begin=read)
        self._writer = self._engine.execution_options(saycart_begin=write)

    def bound(self, shop: str) -> Database:
        """The same database for one shop: PostgreSQL shows and takes its rows alone (ADR 58), SQLite knows no
        such thing. It can't be widened.

        Raises:
            ValueError: no shop, or another than this one is bound to.
        """
        if shop in ("", row_security.EVERYWHERE):
            raise ValueError("bound to no shop")
        return self._handle(shop)

    def everywhere(self) -> Database:
        """The same database for all shops, for those who serve all: said by name, since who says nothing sees
        no row of any. Raises ValueError where this one is bound to a shop."""
        return self._handle(row_security.EVERYWHERE)

    def _handle(self, whose: str) -> Database:
        if self._whose not in ("", row_security.EVERYWHERE, whose):
            raise ValueError(f"bound to {self._whose}, and not to {whose}")
        if whose not in self._handles:
            made = copy(self)
            made._whose = whose
            if not self.is_sqlite:
                made._name_engines()
            self._handles[whose] = made
        return self._handles[whose]

    @contextmanager
    def read(self) -> Iterator[Session]:
        """One read-only transaction over one snapshot."""
        with neutral_errors(), Session(self._reader, expire_on_commit=False) as session, session.begin():
            yield session

    @contextmanager
    def write(self) -> Iterator[Session]:
        """One transaction, committed at the end of the block, rolled back by any exception. After a failed
        commit the outcome may be unknown."""
        with (
            self._turn(),
            neutral_errors(),
            Session(self._writer, expire_on_commit=False) as session,
            session.begin(),
        ):
            yield session

    @contextmanager
    def glance(self) -> Iterator[Session]:
        """Statements without a transaction around them, each of its own snapshot: one message each."""
        with neutral_errors(), Session(self._glancer, expire_on_commit=False) as session:
            yield session

    def clock(self, ago_s: int = 0) -> ColumnElement[datetime]:
        """The database's clock, `ago_s` seconds back, to be asked for with something else."""
        if self.is_sqlite:
            return literal_column(f"strftime('%Y-%m-%d %H:%M:%f', 'now', '-{ago_s:d} seconds')", UtcDateTime)
        # Not clock_timestamp(): it may give another value for each row, so that no index is searched by it.
        return literal_column(f"(statement_timestamp() - interval '{ago_s:d} seconds')", UtcDateTime)

    def now(self, session: Session) -> datetime:
        """The database's clock, UTC: leases are compared by one clock, however many machines there are."""
        return session.execute(select(self.clock())).scalar_one()

    @staticmethod
    def lock(session: Session, name: str) -> None:
        """Hold a named lock to the end of this write transaction, waiting up to 10 s for it.

        Raises:
            StorageUnavailable: (from the surrounding `write`) it is held for longer.
        """
        # On SQLite a write transaction is alone already.
        if session.get_bind().dialect.name != "sqlite":
            statement = text("SELECT pg_advisory_xact_lock(hashtextextended(:name, 0))")
            session.execute(statement, {"name": name})

    def try_lock(self, name: str) -> AbstractContextManager[bool]:
        """Hold a named lock for the whole block, over many transactions; gives False when it is held. It is
        free again when its holder dies."""
        if self.is_sqlite:
            return locks.next_to_file(f"{self.url.database}.{name}.lock")
        return locks.on_server(self._writer, name)

    def ping(self) -> None:
        """Ask for one row."""
        with self.read() as session:
            session.execute(text("SELECT 1"))

    def migrate(self) -> str:
        """Bring the tables to the newest revision; return the one before. Safe from many processes at once.
        Raises as `infra.sql.migrating.migrate`."""
        return migrating.migrate(self._engine if self.is_sqlite else self.everywhere()._writer)

    def revision(self) -> str:
        """Return the tables' revision; raises as `infra.sql.migrating.revision`."""
        if self.is_sqlite and not Path(str(self.url.database)).exists():
            return ""  # nor is a file made by looking
        with self.read() as session:
            return migrating.revision(session.connection())

    def row_security(self) -> RowSecurity:
        """Whether the database itself keeps shops apart."""
        if self.is_sqlite:
            return RowSecurity()
        with self.read() as session:
            return row_security.found(session.connection())

    def empty_log(self) -> bool:
        """Write SQLite's log (WAL) into its file and cut it, so that nothing which was erased is left in it;
        False during a read, which is not waited for. PostgreSQL looks after its own."""
        if not self.is_sqlite:
            return True
        with neutral_errors(), self._engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA busy_timeout = 100")
            try:
                busy, *_ = connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").one()
            finally:
                connection.exec_driver_sql(f"PRAGMA busy_timeout = {BUSY_S * 1000}")
            return not busy

    @property
    def connections_busy(self) -> int:
        """Connections of this process's pool that are in use now."""
        pool = self._engine.pool
        return pool.checkedout() if isinstance(pool, QueuePool) else 0

    @property
    def connections_limit(self) -> int:
        """Connections that its pool may open."""
        return POOL + OVERFLOW

    def on_connections(self, note: Callable[[int], None]) -> None:
        """Have `note` called with how many connections are in use, each time that one is or comes back; from
        any thread, and two at once may leave it one out until the next."""
        event.listen(self._engine, "checkout", lambda *_: note(self.connections_busy))
        # Called just before it is back.
        event.listen(self._engine, "checkin", lambda *_: note(max(0, self.connections_busy - 1)))

    def close(self) -> None:
        """Close pooled connections; the next use opens new ones."""
        self._engine.dispose()

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Threads of one process queue up for SQLite's one writer, rather than poll and starve each other."""
        if not self.is_sqlite:
            yield
            return
        if not self._writing.acquire(timeout=BUSY_S):
            raise StorageUnavailable("Other threads of this process write")
        try:
            yield
        finally:
            self._writing.release()
