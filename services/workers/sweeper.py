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
from services.bootstrap import Container
from services.workers.keeping import keep
from services.workers.orphans import collect_orphans
from services.workers.part import running

log = structlog.get_logger()

# What one sweep looks at, and what it rings for at most: at a millisecond each it should end within seconds.
LOOK, RING = 50_000, 2_000
FORGET_EVERY_S = 3600.0
# How long an `Idempotency-Key` is remembered.
KEYS_S = 7 * 86_400.0
# How often it is looked for what is over its time, once nothing is left.
KEEP_EVERY_S = 600.0


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
        traces = _traces(container, [order_id for order_id, _ in missing[:RING]])
        for order_id, state in missing[:RING]:
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


def _traces(container: Container, order_ids: list[str]) -> dict[str, str | None]:
    """Where each of these orders stands in its trace, so that a ring of ours shows there."""
    return container.orders.traceparents(order_ids) if tracing.on() and order_ids else {}


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
                _done("collect", partial(collect_orphans, container))
                _done("log", container.database.empty_log)


if __name__ == "__main__":
    main()
