"""Ringing the doorbell after an answer, without letting a broker that is away slow the API down.

Waiting for a dead broker takes seconds in a thread. So rings have threads of their own, never those of the
storage calls, and after a failed ring there is a pause in which none is tried: the sweeper finds in SQL
what was not rung for.
"""

from __future__ import annotations

import time

import anyio
import structlog
from anyio import CapacityLimiter, to_thread

from schemas.lifecycle import State
from services.pipeline.ports import Doorbell

log = structlog.get_logger(__name__)

THREADS = 4
# More than this many waiting means that the broker is slower than the orders come in.
MAX_WAITING = 200
# Seconds without a try after one that failed.
PAUSE_S = 3.0


class Bell:
    """One for each app. `ring` is a background task of an answer and never raises."""

    def __init__(self) -> None:
        self._limiter: CapacityLimiter | None = None
        self._waiting = 0
        self._quiet_until = 0.0

    async def ring(self, doorbell: Doorbell, order_id: str, state: State) -> None:
        """Tell a worker, unless the broker was just found to be away."""
        if self._waiting >= MAX_WAITING or self._resting():
            log.info("doorbell.left_to_sweeper", order_id=order_id)
            return
        # Made here and not in __init__: a limiter belongs to the running event loop.
        limiter = self._limiter = self._limiter or CapacityLimiter(THREADS)
        self._waiting += 1
        try:
            with anyio.CancelScope(shield=True):
                rung = await to_thread.run_sync(self._try, doorbell, order_id, state, limiter=limiter)
        except Exception:
            log.exception("doorbell.broken", order_id=order_id)
            rung = False
        finally:
            self._waiting -= 1
        if not rung:
            self._quiet_until = time.monotonic() + PAUSE_S

    def _try(self, doorbell: Doorbell, order_id: str, state: State) -> bool:
        # Those that waited for a thread meanwhile need not each find out for themselves.
        return False if self._resting() else doorbell.ring(order_id, state)

    def _resting(self) -> bool:
        return time.monotonic() < self._quiet_until
