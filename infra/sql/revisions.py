"""Which revision the tables are at, and whether this release may work on them (ADR 49).

Alembic is not asked: a worker that starts reads two small tables, and pays for no more.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import structlog
from sqlalchemy import column, inspect, select, table
from sqlalchemy.engine import Connection

log = structlog.get_logger()

MIGRATIONS = Path(__file__).resolve().parents[1] / "migrations"
FIRST_KEPT = "0013"
"""The revision that made `schema_versions`; each from here on has its row there."""

_CURRENT = table("alembic_version", column("version_num"))
_KEPT = table("schema_versions", column("revision"), column("serves_from"))


class TablesUnfit(Exception):
    """The tables are of another release, and this one can't work on them. `hint` says how to mend it."""

    hint = ""

    def __init__(self, detail: str, *, hint: str | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.hint = self.hint if hint is None else hint


class TablesTooOld(TablesUnfit):
    hint = "Run `saycart migrate`, once for all machines; whoever waits for it goes on by itself."


class TablesTooNew(TablesUnfit):
    hint = "Run the newer release here too, or restore a backup from before its `saycart migrate`."


@cache
def known() -> tuple[str, ...]:
    """The revisions of this release, oldest first, by the names of their files; a test compares those with
    what stands in them."""
    return tuple(sorted(file.name[1:5] for file in MIGRATIONS.glob("versions/v[0-9]*.py")))


@dataclass(frozen=True, slots=True)
class Standing:
    """What the tables are to this release. `at` is their revision, empty where there are none.

    `older`: to be migrated; `newer`: made by a later release, which lets this one work on them; `too_new`:
    made by one that does not.
    """

    at: str
    is_: Literal["current", "older", "newer", "too_new"]

    def check(self) -> None:
        """Whether work can begin.

        Raises:
            TablesTooOld: not before `saycart migrate` has run.
            TablesTooNew: not by this release.
        """
        if self.is_ == "too_new":
            raise TablesTooNew(f"The tables are at {self.at}, and this release ends at {known()[-1]}")
        if self.is_ == "older":
            at = f"are at {self.at}" if self.at else "are not there"
            raise TablesTooOld(f"The tables {at}, and this release needs {known()[-1]}")


def standing(connection: Connection) -> Standing:
    """What the tables are to this release, by the connection to them."""
    tables = inspect(connection)
    if not tables.has_table(_CURRENT.name):
        return Standing("", "older")
    at = connection.scalar(select(_CURRENT.c.version_num)) or ""
    if at == known()[-1]:
        return Standing(at, "current")
    if not at or at in known():
        return Standing(at, "older")
    kept = tables.has_table(_KEPT.name)
    rows = connection.execute(select(_KEPT.c.revision, _KEPT.c.serves_from)).all() if kept else ()
    later = {revision: serves_from for revision, serves_from in rows if revision not in known()}
    # Each one that came after ours must let ours work: one of them may have taken away what we need.
    serves = at in later and all(serves_from in known() for serves_from in later.values())
    return Standing(at, "newer" if serves else "too_new")


def say_newer(found: Standing) -> None:
    """Log that a later release has changed the tables."""
    log.warning("database.newer", at=found.at, ours=known()[-1])
