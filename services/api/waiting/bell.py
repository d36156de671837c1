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
# Seconds without a try after one that failed.
PAUSE_S = 3.0


class Bell:
    """One for each app. `ring` is a background task of an answer and never raises."""

    def __init__(self) -> None:
        self._limiter = CapacityLimiter(THREADS)
        self._quiet_until = 0.0

    async def ring(self, doorbell: Doorbell, order_id: str, state: State) -> None:
        """Tell a worker, unless the broker was just found to be away."""
        with anyio.CancelScope(shield=True):
            await to_thread.run_sync(self._try, doorbell, order_id, state, limiter=self._limiter)

    def _try(self, doorbell: Doorbell, order_id: str, state: State) -> None:
        # Here, since those that waited for a thread need not each find out for themselves.
        if time.monotonic() < self._quiet_until:
            log.info("doorbell.left_to_sweeper", order_id=order_id)
            return
        try:
            rung = doorbell.ring(order_id, state)
        except Exception:
            log.exception("doorbell.broken", order_id=order_id)
            rung = False
        if not rung:
            self._quiet_until = time.monotonic() + PAUSE_S
