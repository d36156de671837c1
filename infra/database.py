"""The database: transactions, clock, named locks and migrations, alike on SQLite and PostgreSQL.

A write on SQLite begins with BEGIN IMMEDIATE: a transaction that reads first and then upgrades to writing is
thrown out at once, busy_timeout or not, as soon as somebody else wrote in between.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from filelock import FileLock, Timeout
from sqlalchemy import ColumnElement, DateTime, Dialect, literal_column, select, text
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session
from sqlalchemy.types import TypeDecorator

from infra.dialects import (
    BUSY_S,
    DatabaseFull,
    DatabaseRefused,
    DatabaseUnavailable,
    neutral_errors,
    parse_url,
    postgresql_engine,
    sqlite_engine,
)

__all__ = ["Database", "DatabaseFull", "DatabaseRefused", "DatabaseUnavailable", "UtcDateTime"]

MIGRATE_S = 120
MIGRATIONS = Path(__file__).resolve().parent / "migrations"


class UtcDateTime(TypeDecorator[datetime]):
    """Aware UTC datetimes on both databases; SQLite would give them back without their zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a timestamp without a zone")
        value = value.astimezone(UTC)
        return value.replace(tzinfo=None) if dialect.name == "sqlite" else value

    def process_result_value(self, value: datetime | None, _dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class Database:
    """One database by URL: `sqlite:///path` or `postgresql://...` (driven by psycopg 3).

    Connects on first use. Not to be carried across a fork: a child makes its own.

    Raises:
        ValueError: neither of the two, or SQLite without a file.
    """

    def __init__(self, url: str) -> None:
        self.url = parse_url(url)
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        self._engine = sqlite_engine(self.url) if self.is_sqlite else postgresql_engine(self.url)
        self._writing = threading.Lock()
        if self.is_sqlite:
            self._glancer = self._engine
            self._reader = self._engine.execution_options(saycart_begin="BEGIN")
            self._writer = self._engine.execution_options(saycart_begin="BEGIN IMMEDIATE")
        else:
            self._glancer = self._engine.execution_options(isolation_level="AUTOCOMMIT")
            # A read sees one snapshot over all its statements, as it does on SQLite; a write sees what was
            # committed while it waited for a lock.
            self._reader = self._engine.execution_options(
                isolation_level="REPEATABLE READ", postgresql_readonly=True
            )
            self._writer = self._engine.execution_options(isolation_level="READ COMMITTED")

    @contextmanager
    def read(self) -> Iterator[Session]:
        """One read-only transaction over one snapshot.

        Raises:
            DatabaseUnavailable: see there.
            DatabaseRefused: see there.
        """
        with neutral_errors(), Session(self._reader, expire_on_commit=False) as session, session.begin():
            yield session

    @contextmanager
    def write(self) -> Iterator[Session]:
        """One transaction, committed at the end of the block, rolled back by any exception.

        Raises:
            DatabaseUnavailable: see there; after a failed commit the outcome may be unknown.
            DatabaseRefused: see there.
        """
        with (
            self._turn(),
            neutral_errors(),
            Session(self._writer, expire_on_commit=False) as session,
            session.begin(),
        ):
            yield session

    @contextmanager
    def glance(self) -> Iterator[Session]:
        """Statements without a transaction around them, each of its own snapshot: one message each.

        Raises:
            DatabaseUnavailable: see there.
            DatabaseRefused: see there.
        """
        with neutral_errors(), Session(self._glancer, expire_on_commit=False) as session:
            yield session

    def clock(self, ago_s: int = 0) -> ColumnElement[datetime]:
        """The database's clock, `ago_s` seconds back, to be asked for beside something else."""
        if self.is_sqlite:
            return literal_column(f"strftime('%Y-%m-%d %H:%M:%f', 'now', '-{ago_s:d} seconds')", UtcDateTime)
        # Not clock_timestamp(): it may give another value for each row, so that no index is searched by it.
        return literal_column(f"(statement_timestamp() - interval '{ago_s:d} seconds')", UtcDateTime)

    def now(self, session: Session) -> datetime:
        """The database's clock, UTC: leases are compared by one clock, however many machines there are."""
        return session.execute(select(self.clock())).scalar_one()

    def quiet_since(self, session: Session, lag_s: float) -> datetime:
        """A moment before which nothing is written any more, `lag_s` seconds ago or earlier.

        What a transaction writes carries its own `now`, and turns up only once it commits. So on PostgreSQL
        this is no later than the begin of the oldest transaction that runs; those of other users of the
        server can't be seen, and have `lag_s` to end. To be asked before the rows are read, and not in the
        same statement. On SQLite the one writer reads the clock after all others have committed.
        """
        quiet = self.now(session) - timedelta(seconds=lag_s)
        if self.is_sqlite:
            return quiet
        oldest: datetime | None = session.execute(
            text(
                "SELECT min(xact_start) FROM pg_stat_activity WHERE datname = current_database() "
                "AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
            )
        ).scalar_one()
        return quiet if oldest is None else min(quiet, oldest.astimezone(UTC))

    def lock(self, session: Session, name: str) -> None:
        """Hold a named lock to the end of this write transaction, waiting up to 10 s for it.

        Raises:
            DatabaseUnavailable: (from the surrounding `write`) somebody holds it for longer.
        """
        # On SQLite a write transaction is alone already.
        if not self.is_sqlite:
            statement = text("SELECT pg_advisory_xact_lock(hashtextextended(:name, 0))")
            session.execute(statement, {"name": name})

    @contextmanager
    def try_lock(self, name: str) -> Iterator[bool]:
        """Hold a named lock for the whole block, over many transactions; gives False when somebody has it.

        On PostgreSQL it belongs to a connection of its own, on SQLite to a file beside the database. Either
        is free again when its holder dies.

        Raises:
            DatabaseUnavailable: see there.
        """
        if self.is_sqlite:
            lock = FileLock(f"{self.url.database}.{name}.lock")
            try:
                lock.acquire(blocking=False)
            except Timeout:
                pass
            except OSError as error:
                raise DatabaseUnavailable(f"no place for a lock: {error}") from error
            try:
                yield lock.is_locked
            finally:
                lock.release()
            return
        options = {"isolation_level": "AUTOCOMMIT"}
        with neutral_errors(), self._engine.connect().execution_options(**options) as connection:
            held = connection.execute(
                text("SELECT pg_try_advisory_lock(hashtextextended(:name, 0))"), {"name": name}
            ).scalar_one()
            try:
                yield held
            finally:
                # The server lets go of a closed connection's locks only some time after the close, so the
                # lock is given back first. Where that can't be done, the close does it, whatever happened:
                # this connection does not go back to the pool.
                if held:
                    with suppress(DBAPIError):
                        connection.execute(
                            text("SELECT pg_advisory_unlock(hashtextextended(:name, 0))"), {"name": name}
                        )
                connection.invalidate()

    def ping(self) -> None:
        """Ask for one row.

        Raises:
            DatabaseUnavailable: it did not come.
        """
        with self.read() as session:
            session.execute(text("SELECT 1"))

    def migrate(self, revision: str = "head") -> None:
        """Bring the tables to the newest version, or up to an older one, for tests of what follows it. Safe
        from many processes at once: one works, all wait.

        Raises:
            DatabaseUnavailable: not reachable, or another process migrates for more than 120 s.
        """
        if not self.is_sqlite:
            with neutral_errors(), self._writer.begin() as connection:
                connection.execute(text(f"SET LOCAL lock_timeout = '{MIGRATE_S}s'"))
                connection.execute(
                    text("SELECT pg_advisory_xact_lock(hashtextextended('saycart:migrate', 0))")
                )
                self._upgrade(connection, revision)
            return
        file = Path(str(self.url.database))
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with (
                FileLock(f"{file}.migrate.lock", timeout=MIGRATE_S),
                neutral_errors(),
                self._engine.connect() as connection,
            ):
                # WAL is a property of the file, kept for good. Switching is refused while others are
                # connected, whatever the busy_timeout, so it belongs under this lock. With foreign keys
                # looked after SQLite adds no column that is one, and drops no table that others name.
                connection.exec_driver_sql("PRAGMA journal_mode = WAL")
                connection.exec_driver_sql("PRAGMA foreign_keys = OFF")
                connection.commit()
                try:
                    with connection.execution_options(saycart_begin="BEGIN IMMEDIATE").begin():
                        self._upgrade(connection, revision)
                        if broken := connection.exec_driver_sql("PRAGMA foreign_key_check").first():
                            raise DatabaseRefused(f"a row of {broken[0]} names one that is not there")
                finally:
                    connection.invalidate()  # the next one looks after foreign keys again
        except Timeout:
            raise DatabaseUnavailable(f"another process migrates for more than {MIGRATE_S} s") from None
        except OSError as error:
            raise DatabaseUnavailable(f"no place for the database: {error}") from error

    def empty_log(self) -> bool:
        """Write SQLite's log (WAL) into its file and cut it, so that nothing which was erased is left in it;
        False while somebody reads, who is not waited for. PostgreSQL looks after its own.

        Raises:
            DatabaseUnavailable: see there.
        """
        if not self.is_sqlite:
            return True
        with neutral_errors(), self._engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA busy_timeout = 100")
            try:
                busy, *_ = connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").one()
            finally:
                connection.exec_driver_sql(f"PRAGMA busy_timeout = {BUSY_S * 1000}")
            return not busy

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
            raise DatabaseUnavailable("other threads of this process write")
        try:
            yield
        finally:
            self._writing.release()

    @staticmethod
    def _upgrade(connection: Connection, revision: str) -> None:
        # Imported late: only the process that migrates pays for it, not each worker and each command.
        from alembic import command
        from alembic.config import Config

        config = Config()
        config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
