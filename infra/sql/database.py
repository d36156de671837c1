"""The database: transactions, clock and named locks on SQLite and PostgreSQL.

Writes on SQLite begin with BEGIN IMMEDIATE: a transaction that first reads and then writes fails at once if
another has written in between, whatever the busy_timeout.
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
    """A database by URL: `sqlite:///path` or `postgresql://...` (by psycopg 3).

    Connects on first use; create it after a fork, not before. Rows of shops are accessed by its handles
    `bound` and `everywhere`, which share its connections. Any use may raise StorageUnavailable, and
    InputError for values that can't be stored.

    Raises:
        ValueError: another URL, or SQLite without a file.
    """

    def __init__(self, url: str) -> None:
        self.url = parse_url(url)
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        self._engine = (sqlite_engine if self.is_sqlite else postgresql_engine)(self.url)
        self._writing = threading.Lock()
        self._scope = ""
        self._handles: dict[str, Database] = {}
        self._name_engines()

    def _name_engines(self) -> None:
        """Set up the three ways to begin, which name the shop, if any."""
        if self.is_sqlite:
            self._glancer = self._engine
            self._reader = self._engine.execution_options(saycart_begin="BEGIN")
            self._writer = self._engine.execution_options(saycart_begin="BEGIN IMMEDIATE")
            return
        prefix = row_security.naming(self._scope) if self._scope else ""
        # A read sees one snapshot, as on SQLite; a write sees what was committed while it waited for a lock.
        # The shop is set in the same message.
        read, write = (
            f"BEGIN ISOLATION LEVEL {level}; {prefix}".removesuffix("; ")
            for level in ("REPEATABLE READ READ ONLY", "READ COMMITTED")
        )
        self._glancer = self._engine.execution_options(saycart_prefix=prefix) if prefix else self._engine
        self._reader = self._engine.execution_options(saycart_begin=read)
        self._writer = self._engine.execution_options(saycart_begin=write)

    def bound(self, shop: str) -> Database:
        """Return a handle for one shop; PostgreSQL restricts it to the shop's rows (ADR 58).

        Raises:
            ValueError: no shop, or this handle is bound to another one.
        """
        if shop in ("", row_security.EVERYWHERE):
            raise ValueError("bound to no shop")
        return self._handle(shop)

    def everywhere(self) -> Database:
        """Return a handle for all shops; without a handle no rows are visible. Raises ValueError if this one
        is bound to a shop."""
        return self._handle(row_security.EVERYWHERE)

    def _handle(self, scope: str) -> Database:
        if self._scope not in ("", row_security.EVERYWHERE, scope):
            raise ValueError(f"bound to {self._scope}, and not to {scope}")
        if scope not in self._handles:
            handle = copy(self)
            handle._scope = scope
            if not self.is_sqlite:
                handle._name_engines()
            self._handles[scope] = handle
        return self._handles[scope]

    @contextmanager
    def read(self) -> Iterator[Session]:
        """Open a read-only transaction over one snapshot."""
        with neutral_errors(), Session(self._reader, expire_on_commit=False) as session, session.begin():
            yield session

    @contextmanager
    def write(self) -> Iterator[Session]:
        """Open a transaction, committed at the end of the block and rolled back by any exception. After a
        failed commit the outcome may be unknown."""
        with (
            self._turn(),
            neutral_errors(),
            Session(self._writer, expire_on_commit=False) as session,
            session.begin(),
        ):
            yield session

    @contextmanager
    def glance(self) -> Iterator[Session]:
        """Open a session without a transaction: each statement is one message with its own snapshot."""
        with neutral_errors(), Session(self._glancer, expire_on_commit=False) as session:
            yield session

    def clock(self, ago_s: int = 0) -> ColumnElement[datetime]:
        """Return the database's time, minus `ago_s` seconds, as an expression for queries."""
        if self.is_sqlite:
            return literal_column(f"strftime('%Y-%m-%d %H:%M:%f', 'now', '-{ago_s:d} seconds')", UtcDateTime)
        # Not clock_timestamp(), which is evaluated per row and so prevents the use of an index.
        return literal_column(f"(statement_timestamp() - interval '{ago_s:d} seconds')", UtcDateTime)

    def now(self, session: Session) -> datetime:
        """Return the database's time, in UTC: leases on all machines are compared by one clock."""
        return session.execute(select(self.clock())).scalar_one()

    @staticmethod
    def lock(session: Session, name: str) -> None:
        """Take a named lock until the end of this write transaction; the surrounding `write` raises
        StorageUnavailable after 10 s. SQLite has only one writer anyway."""
        if session.get_bind().dialect.name != "sqlite":
            statement = text("SELECT pg_advisory_xact_lock(hashtextextended(:name, 0))")
            session.execute(statement, {"name": name})

    def try_lock(self, name: str) -> AbstractContextManager[bool]:
        """Take a named lock for the block, over many transactions; yields False if another process holds it.
        Released when its holder dies."""
        if self.is_sqlite:
            return locks.next_to_file(f"{self.url.database}.{name}.lock")
        return locks.on_server(self._writer, name)

    def ping(self) -> None:
        """Check that the database answers."""
        with self.read() as session:
            session.execute(text("SELECT 1"))

    def migrate(self) -> str:
        """Migrate to the newest revision; return the previous one. Safe to run in several processes at once.
        Raises as `infra.sql.migrating.migrate`."""
        return migrating.migrate(self._engine if self.is_sqlite else self.everywhere()._writer)

    def revision(self) -> str:
        """Return the tables' revision; raises as `infra.sql.migrating.revision`."""
        if self.is_sqlite and not Path(str(self.url.database)).exists():
            return ""  # connecting would create the file
        with self.read() as session:
            return migrating.revision(session.connection())

    def row_security(self) -> RowSecurity:
        """Return how the database itself keeps shops apart."""
        if self.is_sqlite:
            return RowSecurity()
        with self.read() as session:
            return row_security.found(session.connection())

    def empty_log(self) -> bool:
        """Truncate SQLite's write-ahead log, which may contain erased data; return False if a read prevents
        that. No effect on PostgreSQL."""
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
        """The number of connections in use."""
        pool = self._engine.pool
        return pool.checkedout() if isinstance(pool, QueuePool) else 0

    @property
    def connections_limit(self) -> int:
        """The most connections that the pool opens."""
        return POOL + OVERFLOW

    def on_connections(self, note: Callable[[int], None]) -> None:
        """Call `note` with the number of connections in use each time it changes, from any thread."""
        event.listen(self._engine, "checkout", lambda *_: note(self.connections_busy))
        # Called just before the connection is returned.
        event.listen(self._engine, "checkin", lambda *_: note(max(0, self.connections_busy - 1)))

    def close(self) -> None:
        """Close the pool's connections; the next use opens new ones."""
        self._engine.dispose()

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Queue the threads of this process for SQLite's one writer, so that none starves."""
        if not self.is_sqlite:
            yield
            return
        if not self._writing.acquire(timeout=BUSY_S):
            raise StorageUnavailable("Other threads of this process are writing")
        try:
            yield
        finally:
            self._writing.release()
