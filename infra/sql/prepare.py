"""What a part does about the database's tables before it works on them (ADR 49)."""

from __future__ import annotations

import time
from collections.abc import Callable

import structlog

from infra.sql.database import Database
from infra.sql.revisions import TablesTooOld
from schemas.errors import StorageUnavailable

log = structlog.get_logger()

# Seconds for which a part waits for tables that are too old, and between two looks.
AWAIT_S, LOOK_S = 60.0, 2.0


def tell_row_security(database: Database) -> None:
    """Log that PostgreSQL itself does not keep shops apart (ADR 58), where it does not, or is away."""
    try:
        if fault := database.row_security().fault:
            detail, hint = fault
            log.warning("database.shops_not_kept_apart", error=detail, hint=hint)
    except StorageUnavailable as error:
        log.warning("database.not_checked", error=str(error.__cause__ or error))


def prepare(
    database: Database,
    *,
    at_start: bool,
    await_s: float = AWAIT_S,
    pause: Callable[[float], object] = time.sleep,
) -> None:
    """What a part does about the tables before it works: brings them up to date where that is done
    `at_start`, or else waits up to `await_s` seconds for `saycart migrate` to have done it.

    A database that is away is no matter of this, unless it is to be migrated: parts wait for it as they work.
    `pause(seconds)` ends the wait by anything true.

    Raises:
        TablesTooOld: still.
        TablesTooNew: see `migrate`.
        StorageUnavailable: see `migrate`.
    """
    if at_start:
        database.migrate()
        return
    until, logged = time.monotonic() + await_s, False
    while True:
        try:
            database.standing().check()
            return
        except StorageUnavailable as error:
            log.warning("database.not_checked", error=str(error.__cause__ or error))
            return
        except TablesTooOld as error:
            if time.monotonic() >= until:
                raise
            if not logged:
                log.warning("database.too_old", waits_s=await_s, error=error.detail, hint=error.hint)
                logged = True
            if pause(LOOK_S):
                raise
