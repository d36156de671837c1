"""Recordings that are no longer needed: their files are removed, and none is forgotten.

The transaction that ends the need takes the key from the order and writes it down here; only then is the
file removed, and the row after it. Whatever dies in between, the sweeper finds the row. Removing twice is
harmless, and a worker that has the file open reads it to its end: it is the name that goes.

A recording is needed until its order is cancelled or unplayable (`AudioRefused`). In review it is
needed by reviewers, and afterwards by the order's history, for as long as the shop keeps that: what
ends such a time calls `let_go` in its own transaction too.
"""

from __future__ import annotations

from collections.abc import Callable

import structlog
from sqlalchemy import delete, select

from infra.blobs.store import NotABlob, StoreAway
from infra.sql.database import Database
from services.storage.base.changes import glancing, writing
from services.storage.base.tables import RemovalRow

log = structlog.get_logger()

CHUNK = 500


class RemovalStore:
    """Every call may raise StorageUnavailable; what was not done then is done by the next."""

    def __init__(self, database: Database) -> None:
        self._database = database.everywhere()

    def carry_out(self, remove: Callable[[str], None], *, order_id: str | None = None) -> int:
        """Have `remove` take away each file that was let go of, of one order or of all; how many it did.

        `remove` must not mind a file that is gone. One that it can't remove (OSError) is logged and stays
        for the next time; so do all others where the store is away, which each would wait for.
        """
        done, last, away = 0, "", False
        while not away and (keys := self._after(last, order_id)):
            removed = list[str]()
            for key in keys:
                try:
                    if _gone(remove, key):
                        removed.append(key)
                except StoreAway:
                    log.warning("recording.store_away", exc_info=True)
                    away = True
                    break
            if removed:
                with writing(self._database) as (session, _):
                    session.execute(delete(RemovalRow).where(RemovalRow.key.in_(removed)))
            done, last = done + len(removed), keys[-1]
        return done

    def _after(self, last: str, order_id: str | None) -> list[str]:
        query = select(RemovalRow.key).where(RemovalRow.key > last).order_by(RemovalRow.key).limit(CHUNK)
        if order_id is not None:
            query = query.where(RemovalRow.order_id == order_id)
        with glancing(self._database) as session:
            return list(session.scalars(query))


def _gone(remove: Callable[[str], None], key: str) -> bool:
    try:
        remove(key)
    except NotABlob:
        return True  # it never named a file
    except StoreAway:
        raise
    except OSError:
        log.warning("recording.not_removed", exc_info=True)
        return False
    return True
