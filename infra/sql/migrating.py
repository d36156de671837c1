"""Brings the tables up to date, in one transaction: one process works, all others wait (ADR 49)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import OperationalError

from infra.sql import row_security
from infra.sql.dialects import neutral_errors
from infra.sql.revisions import MIGRATIONS, standing
from schemas.errors import InputError, StorageUnavailable

if TYPE_CHECKING:
    from alembic.config import Config

# Seconds that one process waits for another one's migration.
MIGRATE_S = 120
# Milliseconds that a statement waits for a table, and all who come after it with it.
LOCK_TIMEOUT_MS = 2000
# A migration changes rows of all shops.
EVERY_ROW = f"SET LOCAL {row_security.SETTING} = '{row_security.EVERYWHERE}'"
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('saycart:migrate', 0))"
_LOCK_NOT_AVAILABLE = "55P03"


def migrate_server(engine: Engine) -> tuple[str, str]:
    """Bring PostgreSQL's tables up to date; from which revision to which, empty where there were none. The
    engine's transactions begin as READ COMMITTED: what the one before committed must be seen.

    Raises:
        StorageUnavailable: not reachable, another process migrates for more than 120 s, or a table
            is held for more than 2. Nothing is changed then.
        TablesTooNew: of a later release.
    """
    with neutral_errors(), engine.connect() as connection, connection.begin():
        connection.exec_driver_sql(EVERY_ROW)
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{MIGRATE_S}s'")
        try:
            connection.exec_driver_sql(_LOCK)
        except OperationalError as error:
            if getattr(error.orig, "sqlstate", None) != _LOCK_NOT_AVAILABLE:
                raise
            raise StorageUnavailable(f"Another process migrates for more than {MIGRATE_S} s") from error
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT_MS}ms'")
        return _upgrade(connection)


def migrate_file(engine: Engine) -> tuple[str, str]:
    """As `migrate_server`, for a SQLite file, which is made where there is none.

    Raises:
        InputError: afterwards a row would name one that is not there. Nothing is changed then.
    """
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
                    came = _upgrade(connection)
                    if broken := connection.exec_driver_sql("PRAGMA foreign_key_check").first():
                        raise InputError(f"A row of {broken[0]} names one that is not there")
                    return came
            finally:
                connection.invalidate()  # the next one looks after foreign keys again
    except Timeout:
        raise StorageUnavailable(f"Another process migrates for more than {MIGRATE_S} s") from None
    except OSError as error:
        raise StorageUnavailable(f"No place for the database: {error}") from error


def _upgrade(connection: Connection) -> tuple[str, str]:
    found = standing(connection)
    if found.is_ == "newer":
        found.check()
    if found.is_ == "current":
        return found.at, found.at
    # Imported late: only the process that migrates pays for it, not each worker and each command.
    from alembic import command

    config = _config()
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
    return found.at, standing(connection).at


def _config() -> Config:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    return config
