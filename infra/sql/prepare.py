"""Prepares the database's tables before a process uses them (ADR 49)."""

from __future__ import annotations

import time
from collections.abc import Callable

import structlog

from infra.sql.database import Database
from infra.sql.migrating import known
from schemas.errors import InputError, StorageUnavailable

log = structlog.get_logger()

# How long to wait for a migration, and how often to look for it.
AWAIT_S, POLL_S = 60, 2
MIGRATE = "Run `saycart migrate` once for all machines; waiting processes then continue by themselves."


def warn_of_row_security(database: Database) -> None:
    """Log a warning if PostgreSQL itself doesn't keep shops apart (ADR 58), or is down."""
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
    """Migrate `at_start`, or wait up to `await_s` seconds for `saycart migrate`. Doesn't wait for a database
    that is down. `pause(seconds)` ends the wait by returning True.

    Raises:
        InputError: the tables haven't been migrated, or are of a later release.
        StorageUnavailable: as `migrate`.
    """
    if at_start:
        database.migrate()
        return
    for remaining_s in range(await_s, -1, -POLL_S):
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
        if remaining_s == await_s and await_s:
            log.warning("database.too_old", waits_s=await_s, error=old.detail, hint=MIGRATE)
        if remaining_s < POLL_S or pause(POLL_S):
            raise old
