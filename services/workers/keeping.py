"""Carries out retention: what a shop has kept for long enough goes, in steps of some milliseconds."""

from __future__ import annotations

import time

import structlog

from schemas.shops.retention import seconds
from services.bootstrap import Container

log = structlog.get_logger()

# Seconds of one sweep that go to it, pauses included.
KEEP_S = 2.0


def keep(container: Container, budget_s: float = KEEP_S) -> bool:
    """Carry out what is due in each shop, for about `budget_s` seconds; False when nothing is left to do.

    Whole orders first: what goes with them need not be erased before. After each step it rests for as long as
    the step took, so that orders have SQLite's one writer for half of the time at least.
    """
    kept_by_all, until, done = container.settings.keeps, time.monotonic() + budget_s, dict[str, int]()
    with container.database.try_lock("retention") as mine:
        if not mine:
            return False
        try:
            for shop in container.shops.list():
                keeps = shop.keeps.over(kept_by_all.recordings, kept_by_all.transcripts, kept_by_all.orders)
                store = container.retention(shop.id)
                for what, step, kept in (
                    ("orders", store.orders, seconds(keeps.orders)),
                    ("transcripts", store.words, seconds(keeps.transcripts)),
                    ("recordings", store.recordings, seconds(keeps.recordings)),
                ):
                    while kept is not None:
                        began = time.monotonic()
                        if not (count := step(kept)):
                            break
                        done[what] = done.get(what, 0) + count
                        now = time.monotonic()
                        if now >= until:
                            return True
                        time.sleep(now - began)
        finally:
            if done:
                log.info("retention.carried_out", **done)
    return False
