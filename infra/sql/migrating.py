"""The tables' revision, and bringing them to this release's: one process works, all others wait (ADR 49)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout
from sqlalchemy import inspect
from sqlalchemy.engine import Connection, Engine

from infra.sql.dialects import neutral_errors
from schemas.errors import InputError, StorageUnavailable

MIGRATIONS = Path(__file__).resolve().parents[1] / "migrations"
# Seconds that one process waits for another one's migration.
MIGRATE_S = 120
# Milliseconds that a statement waits for a table, and all who come after it with it.
LOCK_TIMEOUT_MS = 2000
LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('saycart:migrate', 0))"


def known() -> list[str]:
    """Return this release's revisions, oldest first, by the names of their files."""
    return sorted(file.name[1:5] for file in MIGRATIONS.glob("versions/v[0-9]*.py"))


def revision(connection: Connection) -> str:
    """Return the tables' revision, empty where there are no tables. Alembic is not imported for it: it would
    cost each process 11 MB.

    Raises:
        InputError: the tables are of a later release.
    """
    if not inspect(connection).has_table("alembic_version"):
        return ""
    at = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar() or ""
    if at and at not in known():
        raise InputError(
            f"The tables are at {at}, and this release ends at {known()[-1]}",
            hint="Run the newer release here too, or put back the backup from before its `saycart migrate`.",
        )
    return at


def migrate(engine: Engine) -> str:
    """Migrate in one transaction; return the revision before it. SQLite's file is made where there is none.

    `engine`: on PostgreSQL its transactions are READ COMMITTED, to see what the one before committed, and see
    the rows of all shops.

    Raises:
        StorageUnavailable: not reachable, another process migrates for more than `MIGRATE_S`, or a table
            is held for more than `LOCK_TIMEOUT_MS`. Nothing is changed then.
        InputError: as `revision`.
    """
    locked = _in_file if engine.dialect.name == "sqlite" else _on_server
    with neutral_errors(), locked(engine) as connection:
        before = revision(connection)
        if before != known()[-1]:
            from alembic import command
            from alembic.config import Config

            config = Config(attributes={"connection": connection})
            config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
            command.upgrade(config, "head")
        return before


@contextmanager
def _on_server(engine: Engine) -> Iterator[Connection]:
    with engine.begin() as connection:
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{MIGRATE_S}s'")
        connection.exec_driver_sql(LOCK)
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT_MS}ms'")
        yield connection


@contextmanager
def _in_file(engine: Engine) -> Iterator[Connection]:
    file = Path(str(engine.url.database))
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{file}.migrate.lock", timeout=MIGRATE_S), engine.connect() as connection:
            # WAL is a property of the file, kept for good. Switching is refused while others are connected,
            # whatever the busy_timeout, so it belongs under this lock.
            connection.exec_driver_sql("PRAGMA journal_mode = WAL")
            connection.commit()
            with connection.execution_options(saycart_begin="BEGIN IMMEDIATE").begin():
                yield connection
    except Timeout:
        raise StorageUnavailable(f"Another process migrates for more than {MIGRATE_S} s") from None
    except OSError as error:
        raise StorageUnavailable(f"No place for the database: {error}") from error
