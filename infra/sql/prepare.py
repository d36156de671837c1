"""What a part does about the database's tables before it works on them (ADR 49)."""

from __future__ import annotations

import time
from collections.abc import Callable

import structlog

from infra.sql.database import Database
from infra.sql.migrating import known
from schemas.errors import InputError, StorageUnavailable

log = structlog.get_logger()

# Seconds for which a part waits for tables that are too old, and between two looks.
AWAIT_S, LOOK_S = 60, 2
MIGRATE = "Run `saycart migrate`, once for all machines; parts that wait for it go on by themselves."


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
    await_s: int = AWAIT_S,
    pause: Callable[[float], object] = time.sleep,
) -> None:
    """Migrate where that is done `at_start`, or else wait up to `await_s` seconds for `saycart migrate`.

    A database that is away is no matter of this, unless it is to be migrated: parts wait for it as they work.
    `pause(seconds)` ends the wait by anything true.

    Raises:
        InputError: the tables are still to be migrated, or of a later release.
        StorageUnavailable: as `migrate`.
    """
    if at_start:
        database.migrate()
        return
    for left_s in range(await_s, -1, -LOOK_S):
        try:
            at = database.revision()
        except StorageUnavailable as error:
            log.warning("database.not_checked", error=str(error.__cause__ or error))
            return
        if at == known()[-1]:
            return
        old = InputError(
            f"The tables are at {at or 'none'}, and this release needs {known()[-1]}", hint=MIGRATE
        )
        if left_s == await_s and await_s:
            log.warning("database.too_old", waits_s=await_s, error=old.detail, hint=MIGRATE)
        if left_s < LOOK_S or pause(LOOK_S):
            raise old
