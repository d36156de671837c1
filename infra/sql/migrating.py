"""The tables' revision, and their migration by one process while others wait (ADR 49)."""

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
# How long to wait for another process's migration.
MIGRATE_S = 120
# How long a statement waits for a table, and blocks all later ones.
LOCK_TIMEOUT_MS = 2000
LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('saycart:migrate', 0))"


def known() -> list[str]:
    """Return this release's revisions, oldest first."""
    return sorted(file.name[1:5] for file in MIGRATIONS.glob("versions/v[0-9]*.py"))


def revision(connection: Connection) -> str:
    """Return the tables' revision, empty if there are none. Without Alembic, which costs each process 11 MB.

    Raises:
        InputError: the tables are of a later release.
    """
    if not inspect(connection).has_table("alembic_version"):
        return ""
    at = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar() or ""
    if at and at not in known():
        raise InputError(
            f"The tables are at {at}, and this release ends at {known()[-1]}",
            hint="Run the newer release here too, or restore the backup from before its `saycart migrate`. A "
            "development version's tables can't be used.",
        )
    return at


def migrate(engine: Engine) -> str:
    """Migrate in one transaction; return the previous revision. Creates SQLite's file. On PostgreSQL, the
    engine's transactions must be READ COMMITTED and for all shops.

    Raises:
        StorageUnavailable: the database is down, another process migrates for more than `MIGRATE_S`, or a
            table is locked for more than `LOCK_TIMEOUT_MS`. Nothing is changed.
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
            # WAL mode is stored in the file. It can't be changed while others are connected, whatever the
            # busy_timeout, so it is set under this lock.
            connection.exec_driver_sql("PRAGMA journal_mode = WAL")
            connection.commit()
            with connection.execution_options(saycart_begin="BEGIN IMMEDIATE").begin():
                yield connection
    except Timeout:
        raise StorageUnavailable(f"Another process migrates for more than {MIGRATE_S} s") from None
    except OSError as error:
        raise StorageUnavailable(f"The database file can't be created: {error}") from error
