"""Keeps an order's lease alive while its stage works, and no longer than the stage may take.

A lease is short, so a dead worker's order is free again within seconds. A live worker renews it every third
of its length, and checks more often for a cancellation, to stop the model early. Both end with the stage's
time limit: past it the stage counts as hung, and its order is released. On a pool of threads this is the only
time limit, since Celery's needs processes.
"""

from __future__ import annotations

import threading
import time

import structlog

from infra.observability import measures
from schemas.lifecycle import STAGES
from schemas.records.orders import OrderRecord
from services.storage.orders.store import OrderStore

log = structlog.get_logger()

CHECK_S = 0.4
"""Seconds between two checks that the order is still ours; each reads one row."""


class Heartbeat:
    """Renews the lease of one claimed order, in a thread, while the block runs.

    `lost` is set once the order belongs to another worker; the stage's result will be dropped.
    """

    def __init__(self, orders: OrderStore, order: OrderRecord, *, lease_s: float, limit_s: float) -> None:
        self._orders = orders
        self._order = order
        self._lease_s = lease_s
        self._end = time.monotonic() + limit_s
        self._stop = threading.Event()
        self.lost = threading.Event()
        self._thread = threading.Thread(target=self._beat, name=f"lease-{order.id}", daemon=True)

    def __enter__(self) -> Heartbeat:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        # Not joined: a late renewal does no harm, since the version has moved on.
        self._stop.set()

    def _beat(self) -> None:
        every_s = self._lease_s / 3
        due = time.monotonic() + every_s
        while not self._stop.wait(min(CHECK_S, every_s)):
            if (now := time.monotonic()) >= self._end:
                log.error("lease.stage_hangs", order_id=self._order.id, version=self._order.version)
                self._trouble("timed_out")
                return
            renews = now >= due
            try:
                if renews:
                    due = now + every_s
                    held = self._orders.renew(self._order, self._lease_s)
                else:
                    held = self._orders.holds(self._order)
            except Exception:
                # A silent death of this thread would lose the order; the next beat may succeed.
                if renews:
                    log.warning("lease.not_renewed", order_id=self._order.id, exc_info=True)
                    self._trouble("not_renewed")
                continue
            if not held and not self._stop.is_set():
                self.lost.set()
                log.warning("lease.lost", order_id=self._order.id, version=self._order.version)
                self._trouble("lost")
                return

    def _trouble(self, trouble: str) -> None:
        measures.count_lease_trouble(STAGES[self._order.state], trouble)
