"""Ring the doorbell after a response, without letting a broken broker slow the API down.

A dead broker blocks a thread for seconds. So rings have threads of their own, and after a failed ring none is
tried for a while: the sweeper finds those orders in SQL.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import anyio
import structlog
from anyio import CapacityLimiter, to_thread

from schemas.lifecycle import State

if TYPE_CHECKING:
    from services.doorbell import Doorbell

log = structlog.get_logger(__name__)

THREADS = 4
# Seconds without rings after a failed one.
PAUSE_S = 3.0


class Bell:
    """The doorbell of one app. `ring` is a background task of a response and never raises."""

    def __init__(self) -> None:
        self._limiter = CapacityLimiter(THREADS)
        self._quiet_until = 0.0

    async def ring(self, doorbell: Doorbell, order_id: str, state: State) -> None:
        """Notify a worker, unless the broker has just failed."""
        with anyio.CancelScope(shield=True):
            await to_thread.run_sync(self._try, doorbell, order_id, state, limiter=self._limiter)

    def _try(self, doorbell: Doorbell, order_id: str, state: State) -> None:
        # Checked here, so that rings that waited for a thread are skipped too.
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
