"""`saycart migrate`: brings the database's tables up to date, as a job of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from infra.settings import settings
from infra.sql.database import Database, DatabaseUnavailable
from schemas.errors import StorageUnavailable
from services.cli.client import errors_shown

NEEDED = 3
"""Exit status of `--check` when there is something to do; 1 is for whatever went wrong."""


def migrate(
    check: Annotated[
        bool, typer.Option("--check", help="only check; exits with 3 if a migration is needed")
    ] = False,
) -> None:
    """Bring the tables up to date. Safe while parts are running, on many machines at once, and again."""
    with errors_shown() as console, _database() as database:
        if not check:
            before, after = database.migrate()
            went = f"went from {before or 'none'} to {after}." if before != after else f"are at {after}."
            console.print(f"The tables {went}")
            return
        found = database.standing()
        if found.is_ == "newer":
            found.check()
        if found.is_ == "older":
            console.print(f"The tables are at {found.at or 'none'}: run `saycart migrate`.")
            raise typer.Exit(NEEDED)
        console.print(f"The tables are at {found.at}: nothing to do.")


@contextmanager
def _database() -> Iterator[Database]:
    database = Database(settings().database)
    try:
        yield database
    except DatabaseUnavailable as error:
        raise StorageUnavailable(str(error), hint="Check DATABASE_URL and its server.") from error
    finally:
        database.close()
