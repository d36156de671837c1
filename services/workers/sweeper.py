"""Repeats lost notifications, and deletes old data: `python -m services.workers.sweeper`.

If more orders wait for a stage than Redis has messages for it, the sweeper notifies for the rest (ADR 1):
after Redis was flushed, a worker died, or the stack was killed. Only missing messages are sent; a duplicate
is harmless. It also carries out retention and deletes recordings that no order refers to (ADR 44). Several
sweepers can run; one works at a time.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from functools import partial

import structlog

from infra.observability import measures
from schemas.errors import StorageUnavailable
from schemas.lifecycle import State
from schemas.shops.settings import seconds
from services.bootstrap import Container
from services.recordings import read_errors
from services.storage.privacy.retention import STEPS, RetentionStore
from services.workers.part import running

log = structlog.get_logger()

# The most orders that one sweep reads, and notifies for.
MAX_DUE, MAX_RUNG = 50_000, 2_000
CLEAN_UP_EVERY_S = 3600.0
# How long idempotency keys and delivered messages are kept.
KEYS_S = MESSAGES_S = 7 * 86_400.0
# How often retention runs when there is nothing left to do, and for how long at once.
RETENTION_EVERY_S, RETENTION_S = 600.0, 2.0
# Younger recordings are never deleted: their orders may not be stored yet.
AGE_S = 3600.0


def sweep(container: Container, idle_s: float) -> int:
    """Notify for orders that have waited for `idle_s` seconds without a message; return how many. Redis is
    read before SQL: orders whose messages changed since then aren't due."""
    with container.database.try_lock("sweeper") as mine:
        if not mine or not container.orders.due(limit=1, idle_s=idle_s):
            return 0
        held = container.doorbell.held(container.settings.stage_lease_s)
        if held is None:
            return 0
        missing = _without_message(container.orders.due(limit=MAX_DUE, idle_s=idle_s), held)
        rung = 0
        for order_id, state in missing[:MAX_RUNG]:
            if not container.doorbell.ring(order_id, state):
                break
            rung += 1
        if missing:
            log.info("sweep.rang", missing=len(missing), rung=rung, held=held.total())
        return rung


def _without_message(due: list[tuple[str, State]], held: Counter[State]) -> list[tuple[str, State]]:
    """Return as many orders per stage as it lacks messages, those that waited longest."""
    messages, missing = Counter(held), list[tuple[str, State]]()
    for order_id, state in due:
        if messages[state] > 0:
            messages[state] -= 1
        else:
            missing.append((order_id, state))
    return missing


def apply_retention(container: Container, budget_s: float = RETENTION_S) -> bool:
    """Carry out retention in all shops for about `budget_s` seconds; return True if there is more to do.

    Whole orders are deleted first. Each step is followed by a pause of the same length, so that others can
    write to SQLite.
    """
    default, until, done = container.settings.keeps, time.monotonic() + budget_s, dict[str, int]()
    with container.database.try_lock("retention") as mine:
        if not mine:
            return False
        try:
            for shop in container.shops.list():
                store = RetentionStore(container.database, shop.id)
                for what in STEPS:
                    kept = seconds(getattr(shop.keeps, what) or getattr(default, what))
                    while kept is not None:
                        began = time.monotonic()
                        if not (count := store.step(what, kept)):
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


def collect_orphans(container: Container) -> int:
    """Delete unfinished uploads, and recordings older than `AGE_S` that no order refers to; return how many
    recordings.

    Raises:
        StorageUnavailable: the database or the recording store is down.
    """
    blobs = container.blobs
    blobs.clear_leftovers()
    with read_errors():
        orphans = container.load.unknown_recordings(blobs.older_than(AGE_S))
        for key in orphans:
            blobs.delete(key)
    if orphans:
        log.info("recording.collected", orphans=len(orphans))
    return len(orphans)


def _run(part: str, work: Callable[[], int]) -> int | None:
    """Return the result of one part of a round; None if it failed, which is logged."""
    with measures.time_sweep(part) as took:
        try:
            result = work()
            took.outcome = measures.DONE
            return result
        except StorageUnavailable as error:
            took.outcome = StorageUnavailable.code
            log.warning("sweep.storage_away", part=part, error=str(error))
        except Exception:
            log.exception("sweep.fault", part=part)
        return None


def main() -> None:
    with running("sweeper") as (container, stopped):
        # The first sweep doesn't wait: at a start, all waiting orders may have lost their messages.
        idle_s, pause_s, next_clean_up, next_retention = 0.0, 0.0, 0.0, 0.0
        while not stopped(pause_s):
            pause_s = container.settings.sweep_s
            if _run("sweep", partial(sweep, container, idle_s)) is not None:
                idle_s = pause_s
            if time.monotonic() >= next_retention and not _run("keep", partial(apply_retention, container)):
                next_retention = time.monotonic() + RETENTION_EVERY_S
            if time.monotonic() >= next_clean_up:
                next_clean_up = time.monotonic() + CLEAN_UP_EVERY_S
                _run("forget", partial(container.orders.forget_keys, KEYS_S))
                _run("turns", partial(container.orders.forget_turns, CLEAN_UP_EVERY_S))
                _run("messages", partial(container.outbox.forget, MESSAGES_S))
                _run("collect", partial(collect_orphans, container))
                _run("log", container.database.empty_log)


if __name__ == "__main__":
    main()
