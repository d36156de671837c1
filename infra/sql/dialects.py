"""The two databases that we run on: their URLs, engines and errors. What differs between them is here.

SQLite runs in WAL with `synchronous=FULL`, so an order that was answered with 202 survives a power cut.
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
# Connections that a process keeps, and how many more it may open, each closed after one use. Fewer kept than
# are used at once, and a burst opens one for each use.
POOL, OVERFLOW = 10, 10
# Seconds after which a connection in the pool is pinged before it is used again.
RESTED_S = 1.0

# Primary result codes that pass by themselves, or once the disk is fixed. "no such table" is also an
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
_POSTGRESQL_DISK_FULL = "53100"


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


def parse_url(url: str) -> URL:
    """The URL with its driver; raises ValueError for anything but PostgreSQL and SQLite in a file."""
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


def _engine(url: URL, **more: Any) -> Engine:
    engine = create_engine(
        url,
        json_serializer=_JSON,
        hide_parameters=True,  # an error is logged, and a parameter may be what a customer said
        pool_size=POOL,
        max_overflow=OVERFLOW,
        pool_timeout=BUSY_S,
        pool_use_lifo=True,  # so that those which a burst opened can rest
        **more,
    )
    event.listen(engine, "begin", _begin)
    return engine


def sqlite_engine(url: URL) -> Engine:
    """An engine whose transactions begin with the execution option `saycart_begin`, if there is one."""
    engine = _engine(url, connect_args={"timeout": BUSY_S})

    @event.listens_for(engine, "connect")
    def _prepare(dbapi: Any, _record: Any) -> None:
        dbapi.isolation_level = None  # the driver's own BEGIN is deferred; ours is below
        # What is deleted is written over; some builds of SQLite do so by themselves, and others don't.
        pragmas = ("foreign_keys = ON", "synchronous = FULL", "secure_delete = ON")
        for pragma in (*pragmas, f"busy_timeout = {BUSY_S * 1000}"):
            dbapi.execute(f"PRAGMA {pragma}")

    return engine


def _begin(connection: Connection) -> None:
    statement = connection.get_execution_options().get("saycart_begin")
    if statement:
        connection.exec_driver_sql(statement)


def _say_first(cursor: Any, statement: str, parameters: Any, context: Any) -> bool:
    """Outside a transaction: send the execution option `saycart_says` in front of a statement. Together they
    are one message, and so one transaction. Such a message bears no parameters: the driver writes them in."""
    says = context.execution_options.get("saycart_says")
    if not says:
        return False  # as ever
    from psycopg import ClientCursor

    cursor.execute(f"{says}; {ClientCursor(cursor.connection).mogrify(statement, parameters)}")
    cursor.nextset()
    return True


def postgresql_arguments(url: URL) -> dict[str, Any]:
    """How psycopg connects: as the URL says, gives up on a lock after 10 s, on a dead line after 15."""
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
    """An engine whose connections are made with `postgresql_arguments`. Transactions begin with the execution
    option `saycart_begin`; without it there are none."""
    # The driver's own BEGIN is a message that can say nothing else, so it sends none.
    engine = _engine(url, connect_args=postgresql_arguments(url), isolation_level="AUTOCOMMIT")
    event.listen(engine, "do_execute", _say_first)

    # SQLAlchemy's own ping is a message for each use. A connection that rested is looked at; one that was in
    # use a moment ago fails by itself, and with it all that rest in the pool are replaced.
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
    # The drivers' words name hosts and tables: they are for the log, by way of the cause.
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
