"""Which revision the tables are at, and whether this release may work on them (ADR 49).

Alembic is not asked: a worker that starts reads one small table, and pays for no more.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from sqlalchemy import column, inspect, select, table
from sqlalchemy.engine import Connection

MIGRATIONS = Path(__file__).resolve().parents[1] / "migrations"
_CURRENT = table("alembic_version", column("version_num"))


class TablesUnfit(Exception):
    """The tables are of another release, and this one can't work on them. `hint` says how to fix it."""

    hint = ""

    def __init__(self, detail: str, *, hint: str | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.hint = self.hint if hint is None else hint


class TablesTooOld(TablesUnfit):
    hint = "Run `saycart migrate`, once for all machines; parts that wait for it go on by themselves."


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

    `older`: to be migrated; `newer`: made by a later release.
    """

    at: str
    is_: Literal["current", "older", "newer"]

    def check(self) -> None:
        """Raise unless work can begin.

        Raises:
            TablesTooOld: not before `saycart migrate` has run.
            TablesTooNew: not by this release.
        """
        if self.is_ == "newer":
            raise TablesTooNew(f"The tables are at {self.at}, and this release ends at {known()[-1]}")
        if self.is_ == "older":
            at = f"are at {self.at}" if self.at else "are not there"
            raise TablesTooOld(f"The tables {at}, and this release needs {known()[-1]}")


def standing(connection: Connection) -> Standing:
    """What the tables are to this release, by the connection to them."""
    if not inspect(connection).has_table(_CURRENT.name):
        return Standing("", "older")
    at = connection.scalar(select(_CURRENT.c.version_num)) or ""
    if at == known()[-1]:
        return Standing(at, "current")
    return Standing(at, "older" if not at or at in known() else "newer")
