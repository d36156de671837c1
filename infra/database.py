"""The database: engine, transactions, clock, named locks and migrations, alike on SQLite and PostgreSQL.

SQLite runs in WAL with `synchronous=FULL`, so an order that was answered with 202 survives a power cut.
A write begins with BEGIN IMMEDIATE: a transaction that reads first and then upgrades to writing is thrown
out by SQLite at once, busy_timeout or not, as soon as somebody else wrote in between.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from filelock import FileLock, Timeout
from sqlalchemy import DateTime, Dialect, Engine, create_engine, event, exc, text
from sqlalchemy.engine import URL, Connection, make_url
from sqlalchemy.orm import Session
from sqlalchemy.types import TypeDecorator

BUSY_S = 10
MIGRATE_S = 120
MIGRATIONS = Path(__file__).resolve().parent / "migrations"

# Primary result codes that pass by themselves or by freeing disk. "no such table" is also an
# OperationalError to sqlite3, and must not look like an outage.
_SQLITE_OUTAGE = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_PROTOCOL,
}


class DatabaseUnavailable(Exception):
    """The database can't take it now: locked, full, refused, cut off. Worth another try.

    From a commit that was cut off the outcome is not known: repeat only what is safe to repeat.
    """


class DatabaseRefused(Exception):
    """A value that this database can't hold, such as a NUL in text on PostgreSQL. Never worth a retry."""


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
        self.url = _normal(url)
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        self._engine = _sqlite(self.url) if self.is_sqlite else _postgresql(self.url)
        if self.is_sqlite:
            self._reader = self._engine.execution_options(saycart_begin="BEGIN")
            self._writer = self._engine.execution_options(saycart_begin="BEGIN IMMEDIATE")
        else:
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
        with _neutral(), Session(self._reader, expire_on_commit=False) as session, session.begin():
            yield session

    @contextmanager
    def write(self) -> Iterator[Session]:
        """One transaction, committed at the end of the block, rolled back by any exception.

        Raises:
            DatabaseUnavailable: see there; after a failed commit the outcome may be unknown.
            DatabaseRefused: see there.
        """
        with _neutral(), Session(self._writer, expire_on_commit=False) as session, session.begin():
            yield session

    def now(self, session: Session) -> datetime:
        """The database's clock, UTC: leases are compared by one clock, however many machines there are."""
        if self.is_sqlite:
            shown = session.execute(text("SELECT strftime('%Y-%m-%dT%H:%M:%f+00:00', 'now')")).scalar_one()
            return datetime.fromisoformat(shown)
        moment: datetime = session.execute(text("SELECT clock_timestamp()")).scalar_one()
        return moment.astimezone(UTC)

    def lock(self, session: Session, name: str) -> None:
        """Hold a named lock to the end of this write transaction, waiting up to 10 s for it.

        Raises:
            DatabaseUnavailable: (from the surrounding `write`) somebody holds it for longer.
        """
        # On SQLite a write transaction is alone already.
        if not self.is_sqlite:
            statement = text("SELECT pg_advisory_xact_lock(hashtextextended(:name, 0))")
            session.execute(statement, {"name": name})

    def ping(self) -> None:
        """Ask for one row.

        Raises:
            DatabaseUnavailable: it did not come.
        """
        with self.read() as session:
            session.execute(text("SELECT 1"))

    def migrate(self) -> None:
        """Bring the tables to the newest version. Safe from many processes at once: one works, all wait.

        Raises:
            DatabaseUnavailable: not reachable, or another process migrates for more than 120 s.
        """
        if not self.is_sqlite:
            with _neutral(), self._writer.begin() as connection:
                connection.execute(text(f"SET LOCAL lock_timeout = '{MIGRATE_S}s'"))
                connection.execute(
                    text("SELECT pg_advisory_xact_lock(hashtextextended('saycart:migrate', 0))")
                )
                self._upgrade(connection)
            return
        file = Path(str(self.url.database))
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(f"{file}.migrate.lock", timeout=MIGRATE_S), _neutral():
                # WAL is a property of the file, kept for good. Switching is refused while others are
                # connected, whatever the busy_timeout, so it belongs under this lock.
                raw = self._engine.raw_connection()
                try:
                    raw.cursor().execute("PRAGMA journal_mode = WAL")
                finally:
                    raw.close()
                with self._writer.begin() as connection:
                    self._upgrade(connection)
        except Timeout:
            raise DatabaseUnavailable(f"another process migrates for more than {MIGRATE_S} s") from None
        except OSError as error:
            raise DatabaseUnavailable(f"no place for the database: {error}") from error

    def close(self) -> None:
        """Close pooled connections; the next use opens new ones."""
        self._engine.dispose()

    @staticmethod
    def _upgrade(connection: Connection) -> None:
        config = Config()
        config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def _normal(url: str) -> URL:
    parsed = make_url(url.replace("postgres://", "postgresql://", 1) if url.startswith("postgres:") else url)
    if parsed.get_backend_name() == "postgresql":
        return parsed.set(drivername="postgresql+psycopg")
    if parsed.get_backend_name() != "sqlite":
        raise ValueError("the database URL must begin with sqlite:/// or postgresql://")
    if parsed.database in (None, "", ":memory:"):
        raise ValueError("SQLite needs a file: several processes share it")
    return parsed


# NaN is no JSON: PostgreSQL refuses it and SQLite would keep it, so both refuse.
_JSON = partial(json.dumps, allow_nan=False)


def _sqlite(url: URL) -> Engine:
    engine = create_engine(
        url,
        connect_args={"timeout": BUSY_S},
        json_serializer=_JSON,
        pool_size=5,
        max_overflow=15,
        pool_timeout=BUSY_S,
    )

    @event.listens_for(engine, "connect")
    def _prepare(dbapi: Any, _record: Any) -> None:
        dbapi.isolation_level = None  # the driver's own BEGIN is deferred; ours is below
        for pragma in ("foreign_keys = ON", "synchronous = FULL", f"busy_timeout = {BUSY_S * 1000}"):
            dbapi.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        connection.exec_driver_sql(connection.get_execution_options().get("saycart_begin", "BEGIN"))

    return engine


def _postgresql(url: URL) -> Engine:
    wanted = {
        "connect_timeout": "5",
        # A cut cable is noticed within 15 s rather than after the kernel's quarter of an hour.
        "tcp_user_timeout": "15000",
        "keepalives_idle": "5",
        "keepalives_interval": "5",
        "keepalives_count": "2",
        "options": f"-c lock_timeout={BUSY_S}s -c idle_in_transaction_session_timeout=60s",
    }
    return create_engine(
        url,
        connect_args={name: value for name, value in wanted.items() if name not in url.query},
        json_serializer=_JSON,
        pool_size=5,
        max_overflow=15,
        pool_timeout=BUSY_S,
        pool_pre_ping=True,
    )


@contextmanager
def _neutral() -> Iterator[None]:
    """Turn the drivers' errors into ours, so that nobody above needs to know two drivers."""
    try:
        yield
    except exc.DataError as error:
        raise DatabaseRefused(str(error.orig)) from error
    except exc.TimeoutError as error:
        raise DatabaseUnavailable("every connection of this process is in use") from error
    except exc.DBAPIError as error:
        if _is_outage(error):
            raise DatabaseUnavailable(str(error.orig)) from error
        raise


def _is_outage(error: exc.DBAPIError) -> bool:
    code = getattr(error.orig, "sqlite_errorcode", None)
    if code is not None:
        return code & 0xFF in _SQLITE_OUTAGE
    return error.connection_invalidated or isinstance(error, exc.OperationalError | exc.InterfaceError)
