"""`saycart migrate`: the tables, brought up to date by a job of its own before the parts start."""

from __future__ import annotations

import typer

from infra.database import Database, DatabaseUnavailable
from infra.settings import settings


def migrate() -> None:
    """Bring the database's tables up to this release; safe to run again, and beside running parts."""
    database = Database(settings().database)
    try:
        database.migrate()
    except DatabaseUnavailable as error:
        typer.echo(f"The tables were not brought up to date: {error}", err=True)
        raise typer.Exit(1) from error
    finally:
        database.close()
    typer.echo("tables are up to date")
