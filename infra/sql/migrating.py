"""Brings the tables up to date: one process works, all others wait (ADR 49).

On SQLite it is one transaction. On PostgreSQL each migration is one of its own, and may step out of it to
make an index beside readers and writers. So the lock is the session's. No statement waits for a table longer
than `LOCK_TIMEOUT_MS`: whoever asks for the table after a waiting ALTER TABLE stands behind it, reader or
not. It gives up, lets those through, and begins again where it was.
"""

from __future__ import annotations

import random
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import structlog
from filelock import FileLock, Timeout
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import DBAPIError, OperationalError, PendingRollbackError

from infra.sql import row_security
from infra.sql.dialects import DatabaseRefused, DatabaseUnavailable, neutral_errors
from infra.sql.revisions import MIGRATIONS, TablesTooOld, say_newer, standing

if TYPE_CHECKING:
    from alembic.config import Config

log = structlog.get_logger()

# Seconds that one process waits for another one's migration.
MIGRATE_S = 120
# Milliseconds that a statement waits for a table, and all who come after it with it.
LOCK_TIMEOUT_MS = 500
# Seconds between two tries, drawn at random; and after which it is given up.
PAUSE_S = (0.5, 2.0)
TRY_S = 600
# A migration changes rows of all shops, and its session is not used for anything else.
EVERY_ROW = f"SET {row_security.SETTING} = '{row_security.EVERYWHERE}'"
_POLL_S = 0.2
_NAME = "hashtextextended('saycart:migrate', 0)"
# Not available within the lock timeout; chosen as the victim of a deadlock.
_PASSING = {"55P03", "40P01"}


def migrate(engine: Engine, revision: str = "head") -> tuple[str, str]:
    """Bring the tables to `revision`; from which revision to which, empty where there were none.

    Tables of a later release that lets this one work on them stay as they are.

    Raises:
        DatabaseUnavailable: not reachable, another process migrates for more than 120 s, or somebody holds
            a table for more than 600.
        TablesTooNew: of a later release that does not let this one work on them.
    """
    return _on_sqlite(engine, revision) if engine.dialect.name == "sqlite" else _on_server(engine, revision)


def as_sql(after: str) -> None:
    """Print what migrating PostgreSQL's tables would run, from the revision `after` on.

    Raises:
        TablesTooOld: from before 0012 on, where migrations look at rows.
    """
    from alembic import command

    if after < "0012":
        raise TablesTooOld(
            "What leads up to 0012 can't be printed: it looks at rows",
            hint="Run `saycart migrate` without --sql.",
        )
    command.upgrade(_config(), f"{after}:head", sql=True)


def _on_server(engine: Engine, revision: str) -> tuple[str, str]:
    with (
        neutral_errors(),
        engine.connect().execution_options(isolation_level="READ COMMITTED") as connection,
    ):
        try:
            _lock(connection)
            first, last = _patiently(connection, revision)
            if not first:  # nobody can be at work on tables that were not there
                row_security.enforce(connection, on=True)
            return first, last
        finally:
            # Given back before the close, which the server notices only some time after; what was set for
            # this session goes with it, since it does not go back to the pool.
            with suppress(DBAPIError):
                connection.rollback()
                connection.exec_driver_sql(f"SELECT pg_advisory_unlock({_NAME})")
            connection.invalidate()


def _lock(connection: Connection) -> None:
    """Asked for again and again: one who waits inside a statement holds a snapshot, and CREATE INDEX
    CONCURRENTLY waits for all snapshots, so that the two would wait for each other."""
    until = time.monotonic() + MIGRATE_S
    while not connection.exec_driver_sql(f"SELECT pg_try_advisory_lock({_NAME})").scalar_one():
        connection.commit()
        if time.monotonic() >= until:
            raise DatabaseUnavailable(f"another process migrates for more than {MIGRATE_S} s")
        time.sleep(_POLL_S)
    connection.commit()


def _patiently(connection: Connection, revision: str) -> tuple[str, str]:
    until, first = time.monotonic() + TRY_S, standing(connection).at
    while True:
        try:
            connection.exec_driver_sql(f"SET lock_timeout = '{LOCK_TIMEOUT_MS}ms'")
            connection.exec_driver_sql(EVERY_ROW)
            connection.commit()
            return first, _upgrade(connection, revision)
        except PendingRollbackError as error:  # what Alembic makes of a session that was cut off
            raise DatabaseUnavailable("cut off in the middle; a migration can be run again") from error
        except OperationalError as error:
            connection.rollback()
            if getattr(error.orig, "sqlstate", None) not in _PASSING or time.monotonic() >= until:
                raise
            pause_s = random.uniform(*PAUSE_S)  # noqa: S311 (spreads load, guards nothing)
            log.warning("database.migration_waits", error=str(error.orig).strip(), pause_s=round(pause_s, 1))
            time.sleep(pause_s)


def _on_sqlite(engine: Engine, revision: str) -> tuple[str, str]:
    file = Path(str(engine.url.database))
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with (
            FileLock(f"{file}.migrate.lock", timeout=MIGRATE_S),
            neutral_errors(),
            engine.connect() as connection,
        ):
            # WAL is a property of the file, kept for good. Switching is refused while others are connected,
            # whatever the busy_timeout, so it belongs under this lock. With foreign keys looked after SQLite
            # adds no column that is one, and drops no table that others name.
            connection.exec_driver_sql("PRAGMA journal_mode = WAL")
            connection.exec_driver_sql("PRAGMA foreign_keys = OFF")
            connection.commit()
            try:
                with connection.execution_options(saycart_begin="BEGIN IMMEDIATE").begin():
                    first = standing(connection).at
                    last = _upgrade(connection, revision)
                    if broken := connection.exec_driver_sql("PRAGMA foreign_key_check").first():
                        raise DatabaseRefused(f"a row of {broken[0]} names one that is not there")
                    return first, last
            finally:
                connection.invalidate()  # the next one looks after foreign keys again
    except Timeout:
        raise DatabaseUnavailable(f"another process migrates for more than {MIGRATE_S} s") from None
    except OSError as error:
        raise DatabaseUnavailable(f"no place for the database: {error}") from error


def _upgrade(connection: Connection, revision: str) -> str:
    """The revision that the tables are at then."""
    found = standing(connection)
    if found.is_ in ("newer", "too_new"):
        found.check()
        say_newer(found)
        return found.at
    if found.is_ == "current":
        return found.at
    if not connection.get_execution_options().get("saycart_begin"):
        connection.commit()  # on PostgreSQL each migration has a transaction of its own
    # Imported late: only the process that migrates pays for it, not each worker and each command.
    from alembic import command

    config = _config()
    config.attributes["connection"] = connection
    command.upgrade(config, revision)
    return standing(connection).at


def _config() -> Config:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    return config
