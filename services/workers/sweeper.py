"""Rings lost doorbells: `python -m services.workers.sweeper`.

SQL is the truth. Where more orders wait for a stage, untouched for a while and not held, than Redis has
messages for it, it rings for the rest: after a flushed Redis, a dead worker, or a stack that was killed and
started again. Ringing twice is harmless, since only one claim wins; ringing for a whole backlog at each sweep
is not, so only what is missing is rung for (ADR 1). Many sweepers may run, one works at a time. It also
removes recordings that no order names, and what shops have kept for long enough (ADR 44).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from functools import partial

import structlog

from infra.observability import measures, tracing
from schemas.errors import StorageUnavailable
from schemas.lifecycle import State
from schemas.shops.retention import seconds
from services.bootstrap import Container
from services.recordings import read_errors
from services.storage.privacy.retention import RetentionStore
from services.workers.part import running

log = structlog.get_logger()

# What one sweep looks at, and what it rings for at most: at a millisecond each it should end within seconds.
LOOK, RING = 50_000, 2_000
FORGET_EVERY_S = 3600.0
# How long an `Idempotency-Key` is remembered.
KEYS_S = 7 * 86_400.0
# How long a delivered message is kept.
MESSAGES_S = 7 * 86_400.0
# How often it is looked for what is over its time, once nothing is left.
KEEP_EVERY_S = 600.0
# Seconds of one sweep that go to retention, pauses included.
KEEP_S = 2.0
# No recording is collected that is younger.
AGE_S = 3600.0


def sweep(container: Container, idle_s: float) -> int:
    """Ring for orders that have waited untouched for `idle_s` seconds and have no message; how many.

    Redis is read before SQL: an order that got or lost its message since then was touched since then.
    """
    with container.database.try_lock("sweeper") as mine:
        if not mine or not container.orders.due(limit=1, idle_s=idle_s):
            return 0
        held = container.doorbell.held(container.settings.stage_lease_s)
        if held is None:  # what can't be read can't be rung either
            return 0
        missing = _without_message(container.orders.due(limit=LOOK, idle_s=idle_s), held)
        rung = 0
        late = missing[:RING]
        # Where each order stands in its trace, so that a ring of ours shows there.
        traces = container.orders.traceparents(order_id for order_id, _ in late) if tracing.on() else {}
        for order_id, state in late:
            with tracing.continued(traces.get(order_id)):
                if not container.doorbell.ring(order_id, state):
                    break
            rung += 1
        if missing:
            log.info("sweep.rang", missing=len(missing), rung=rung, held=held.total())
        return rung


def _without_message(due: list[tuple[str, State]], held: Counter[State]) -> list[tuple[str, State]]:
    """As many orders for each stage as it has messages too few, those that waited longest."""
    left, missing = Counter(held), list[tuple[str, State]]()
    for order_id, state in due:
        if left[state] > 0:
            left[state] -= 1
        else:
            missing.append((order_id, state))
    return missing


def keep(container: Container, budget_s: float = KEEP_S) -> bool:
    """Carry out retention in each shop, for about `budget_s` seconds; False when nothing is left to do.

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
                store = RetentionStore(container.database, shop.id)
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


def collect_orphans(container: Container) -> int:
    """Remove recordings over `AGE_S` old that no order names; return how many there were. Retention released
    them, their deletion failed, or a process was killed between the file and its transaction. Also remove
    what a killed API has left half written.

    The age keeps off uploads whose transaction is still to come: those end within minutes.

    Raises:
        StorageUnavailable: orders or the store of recordings can't be asked.
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


def _done(part: str, work: Callable[[], int]) -> int | None:
    """What one part of a round came to; None where it failed, which is logged."""
    with measures.sweeper_took(part) as took:
        try:
            came_to = work()
            took.outcome = measures.DONE
            return came_to
        except StorageUnavailable as error:
            took.outcome = StorageUnavailable.code
            log.warning("sweep.storage_away", part=part, error=str(error))
        except Exception:
            log.exception("sweep.fault", part=part)
        return None


def main() -> None:
    with running("sweeper") as (container, stopped):
        # The first sweep takes orders at once: at a start, whatever waits has lost its doorbell.
        idle_s, pause_s, next_forgetting, next_keeping = 0.0, 0.0, 0.0, 0.0
        while not stopped(pause_s):
            pause_s = container.settings.sweep_s
            # Each by itself: what one of them meets must not keep the others from their work.
            if _done("sweep", partial(sweep, container, idle_s)) is not None:
                idle_s = pause_s
            # Where something is left to do, in the next round again.
            if time.monotonic() >= next_keeping and not _done("keep", partial(keep, container)):
                next_keeping = time.monotonic() + KEEP_EVERY_S
            if time.monotonic() >= next_forgetting:
                next_forgetting = time.monotonic() + FORGET_EVERY_S
                _done("forget", partial(container.orders.forget_keys, KEYS_S))
                _done("turns", partial(container.orders.forget_turns, FORGET_EVERY_S))
                _done("messages", partial(container.outbox.forget, MESSAGES_S))
                _done("collect", partial(collect_orphans, container))
                _done("log", container.database.empty_log)


if __name__ == "__main__":
    main()
