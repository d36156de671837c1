"""`saycart migrate`: migrate the database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from infra.settings import settings
from infra.sql.database import Database
from schemas.errors import StorageUnavailable
from services.cli.client import errors_shown

NEEDED = 3
"""Exit status of `--check` if a migration is needed; 1 is for errors."""


def migrate(
    check: Annotated[
        bool, typer.Option("--check", help="only check; exits with 3 if a migration is needed")
    ] = False,
) -> None:
    """Migrate the database. Safe to repeat, on several machines at once, and while parts are running."""
    with errors_shown() as console, _database() as database:
        if not check:
            before, after = database.migrate()
            went = f"went from {before or 'none'} to {after}." if before != after else f"are at {after}."
            console.print(f"The tables {went}")
            return
        revision = database.standing()
        if revision.is_ == "newer":
            revision.check()
        if revision.is_ == "older":
            console.print(f"The tables are at {revision.at or 'none'}: run `saycart migrate`.")
            raise typer.Exit(NEEDED)
        console.print(f"The tables are at {revision.at}: nothing to do.")


@contextmanager
def _database() -> Iterator[Database]:
    database = Database(settings().database)
    try:
        yield database
    except StorageUnavailable as error:
        detail = str(error.__cause__ or error)
        raise StorageUnavailable(detail, hint="Check DATABASE_URL and its server.") from error
    finally:
        database.close()
