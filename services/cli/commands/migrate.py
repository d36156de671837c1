"""`saycart migrate`: migrate the database."""

from __future__ import annotations

from contextlib import closing
from typing import Annotated

import typer

from infra.settings import settings
from infra.sql.database import Database
from infra.sql.migrating import known
from services.cli.client import errors_shown

NEEDED = 3
"""Exit status of `--check` if a migration is needed; 1 is for errors."""


def migrate(
    check: Annotated[
        bool, typer.Option("--check", help="only check; exits with 3 if a migration is needed")
    ] = False,
) -> None:
    """Migrate the database. Safe to repeat, on several machines at once, and while parts are running."""
    with errors_shown() as console, closing(Database(settings().database)) as database:
        before, newest = database.revision() if check else database.migrate(), known()[-1]
        if before == newest:
            console.print(f"The tables are at {newest}: nothing to do.")
        elif check:
            console.print(f"The tables are at {before or 'none'}: run `saycart migrate`.")
            raise typer.Exit(NEEDED)
        else:
            console.print(f"The tables went from {before or 'none'} to {newest}.")
