"""`saycart migrate`: brings the database's tables up to date, as a job of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Annotated

import typer
from rich.console import Console

from infra.settings import settings
from infra.sql.database import Database, DatabaseUnavailable
from infra.sql.migrating import as_sql
from schemas.errors import InputError, StorageUnavailable
from services.cli.client import told


class RowSecurity(StrEnum):
    ON = "on"
    OFF = "off"


NEEDED = 3
"""Exit status of `--check` when there is something to do; 1 is for whatever went wrong."""


def migrate(
    check: Annotated[
        bool, typer.Option("--check", help="only check; exits with 3 if a migration is needed")
    ] = False,
    sql: Annotated[bool, typer.Option("--sql", help="only print the SQL for PostgreSQL")] = False,
    row_security: Annotated[
        RowSecurity | None,
        typer.Option(help="row-level security between shops; turn on once no older release runs"),
    ] = None,
) -> None:
    """Bring the tables up to date. Safe beside running parts, on many machines at once, and again."""
    with told() as console, _database() as database:
        if (check, sql, row_security is not None).count(True) > 1:
            raise InputError("One of --check, --sql and --row-security")
        if row_security is not None:
            _row_security(database, console, on=row_security is RowSecurity.ON)
            return
        if not check and not sql:
            before, after = database.migrate()
            went = f"went from {before or 'none'} to {after}." if before != after else f"are at {after}."
            console.print(f"The tables {went}")
            return
        found = database.standing()
        if found.is_ == "too_new":
            found.check()
        if sql and found.is_ == "older":
            as_sql(found.at)
        elif found.is_ == "older":
            console.print(f"The tables are at {found.at or 'none'}: run `saycart migrate`.")
            raise typer.Exit(NEEDED)
        elif check:
            console.print(f"The tables are at {found.at}: nothing to do.")


def _row_security(database: Database, console: Console, *, on: bool) -> None:
    if database.is_sqlite:
        raise InputError("SQLite has no row security", hint="It is for PostgreSQL.")
    database.standing().check()
    changed = database.enforce_row_security(on)
    found = database.row_security()
    console.print(f"Row security is {'on' if found.held else 'off'}: {len(changed)} tables changed.")
    if on and found.fault:
        detail, hint = found.fault
        console.print(f"But {detail}. {hint}")


@contextmanager
def _database() -> Iterator[Database]:
    database = Database.of(settings())
    try:
        yield database
    except DatabaseUnavailable as error:
        raise StorageUnavailable(str(error), hint="Check DATABASE_URL and its server.") from error
    finally:
        database.close()
