"""URLs, engines and errors of SQLite and PostgreSQL.

SQLite runs in WAL mode with `synchronous=FULL`, so that an accepted order survives a power cut.
"""

from __future__ import annotations

import json
import math
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Any

from sqlalchemy import DateTime, Dialect, Engine, create_engine, event, exc
from sqlalchemy.engine import URL, Connection, make_url
from sqlalchemy.types import TypeDecorator

from schemas.errors import InputError, StorageFull, StorageUnavailable

BUSY_S = 10
_IDLE_S = 60
# Connections that a process keeps, and how many more it may open for a single use.
POOL, OVERFLOW = 10, 10
# Connections that were idle for longer are pinged before their next use.
RESTED_S = 1.0

# Codes of temporary errors. Others, such as "no such table", are also OperationalErrors in sqlite3.
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
_POSTGRESQL_DISK_FULL = "53100"


class UtcDateTime(TypeDecorator[datetime]):
    """Aware UTC datetimes on both databases; SQLite doesn't store the zone."""

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


def parse_url(url: str) -> URL:
    """Return the URL with its driver; raises ValueError except for PostgreSQL, and SQLite with a file."""
    parsed = make_url(url.replace("postgres://", "postgresql://", 1) if url.startswith("postgres:") else url)
    if parsed.get_backend_name() == "postgresql":
        return parsed.set(drivername="postgresql+psycopg")
    if parsed.get_backend_name() != "sqlite":
        raise ValueError("the database URL must begin with sqlite:/// or postgresql://")
    if parsed.database in (None, "", ":memory:"):
        raise ValueError("SQLite needs a file: several processes share it")
    return parsed


# NaN isn't valid JSON, and only PostgreSQL would refuse it.
_JSON = partial(json.dumps, allow_nan=False)


def _engine(url: URL, **more: Any) -> Engine:
    engine = create_engine(
        url,
        json_serializer=_JSON,
        hide_parameters=True,  # errors are logged, and parameters may be a customer's words
        pool_size=POOL,
        max_overflow=OVERFLOW,
        pool_timeout=BUSY_S,
        pool_use_lifo=True,
        **more,
    )
    event.listen(engine, "begin", _begin)
    return engine


def sqlite_engine(url: URL) -> Engine:
    """Return an engine whose transactions begin with the execution option `saycart_begin`, if set."""
    engine = _engine(url, connect_args={"timeout": BUSY_S})

    @event.listens_for(engine, "connect")
    def _prepare(dbapi: Any, _record: Any) -> None:
        dbapi.isolation_level = None  # without the driver's own BEGIN
        # Overwrite deleted data, which only some builds of SQLite do by default.
        pragmas = ("foreign_keys = ON", "synchronous = FULL", "secure_delete = ON")
        for pragma in (*pragmas, f"busy_timeout = {BUSY_S * 1000}"):
            dbapi.execute(f"PRAGMA {pragma}")

    return engine


def _begin(connection: Connection) -> None:
    statement = connection.get_execution_options().get("saycart_begin")
    if statement:
        connection.exec_driver_sql(statement)


def _execute_with_prefix(cursor: Any, statement: str, parameters: Any, context: Any) -> bool:
    """Send the execution option `saycart_prefix` in front of a statement outside a transaction. Both are one
    message, and so one transaction; it can't have parameters, so the driver inserts them."""
    prefix = context.execution_options.get("saycart_prefix")
    if not prefix:
        return False
    from psycopg import ClientCursor

    cursor.execute(f"{prefix}; {ClientCursor(cursor.connection).mogrify(statement, parameters)}")
    cursor.nextset()
    return True


def postgresql_arguments(url: URL) -> dict[str, Any]:
    """Return psycopg's arguments: the URL's, and timeouts of 10 s for locks and 15 s for dead connections."""
    _, arguments = url.get_dialect()().create_connect_args(url)
    return {
        "connect_timeout": "5",
        # A cut cable is noticed within 15 s rather than after the kernel's quarter of an hour.
        "tcp_user_timeout": "15000",
        "keepalives_idle": "5",
        "keepalives_interval": "5",
        "keepalives_count": "2",
        "options": f"-c lock_timeout={BUSY_S}s -c idle_in_transaction_session_timeout={_IDLE_S}s",
    } | dict(arguments)


def postgresql_engine(url: URL) -> Engine:
    """Return an engine whose transactions begin with the execution option `saycart_begin`; without it there
    are none."""
    # Autocommit, since the driver's own BEGIN would be a separate message.
    engine = _engine(url, connect_args=postgresql_arguments(url), isolation_level="AUTOCOMMIT")
    event.listen(engine, "do_execute", _execute_with_prefix)

    # SQLAlchemy's `pool_pre_ping` would ping before each use; here, only connections that were idle are.
    @event.listens_for(engine, "checkin")
    def _rests(_dbapi: Any, record: Any) -> None:
        record.info["rests_since"] = time.monotonic()

    @event.listens_for(engine, "checkout")
    def _look(dbapi: Any, record: Any, _proxy: Any) -> None:
        if time.monotonic() - record.info.get("rests_since", math.inf) < RESTED_S:
            return
        try:
            engine.dialect.do_ping(dbapi)
        except engine.dialect.dbapi.Error as error:  # type: ignore[union-attr]
            raise exc.DisconnectionError from error

    return engine


@contextmanager
def neutral_errors() -> Iterator[None]:
    """Turn the drivers' errors into StorageUnavailable, StorageFull, or InputError for a value that the
    database can't hold, such as a NUL in text on PostgreSQL."""
    try:
        yield
    # The drivers' messages name hosts and tables: they stay in the cause, for the log.
    except exc.DataError as error:
        raise InputError("It has a value that can't be stored") from error.orig
    except exc.TimeoutError as error:
        raise StorageUnavailable("Every database connection of this process is in use") from error
    except exc.DBAPIError as error:
        if _is_full(error):
            raise StorageFull("The database's disk is full") from error.orig
        if _is_outage(error):
            raise StorageUnavailable("The database is unavailable") from error.orig
        raise


def _is_outage(error: exc.DBAPIError) -> bool:
    code = getattr(error.orig, "sqlite_errorcode", None)
    if code is not None:
        return code & 0xFF in _SQLITE_OUTAGE
    return error.connection_invalidated or isinstance(error, exc.OperationalError | exc.InterfaceError)


def _is_full(error: exc.DBAPIError) -> bool:
    if getattr(error.orig, "sqlstate", None) == _POSTGRESQL_DISK_FULL:
        return True
    return getattr(error.orig, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_FULL
