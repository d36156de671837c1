"""Keeps an order's lease alive while its stage works, and no longer than the stage may take.

A lease is short, so that the order of a dead worker is free again within seconds. A live worker prolongs it
every third of its length, and looks more often whether the order was cancelled, so that no model goes on
in vain. Both end with the stage's time limit: past that the stage counts as hung, and the order is
free for others. This is the limit that holds where Celery's does nothing, which is on threads.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from types import TracebackType
from typing import Protocol

import structlog

from infra.observability import measures
from schemas.errors import StorageUnavailable
from schemas.lifecycle import STAGES
from schemas.records.orders import OrderRecord

log = structlog.get_logger()

LOOK_S = 0.4
"""Seconds between two looks whether the order is still ours: one read of its row."""


class Leases(Protocol):
    """What a heartbeat asks of storage; `OrderStore` has it."""

    def renew(self, order: OrderRecord, lease_s: float) -> bool:
        """Hold the order for `lease_s` seconds from now; False when it is no longer ours."""
        ...

    def holds(self, order: OrderRecord) -> bool:
        """Whether it is still ours, as one read tells."""
        ...


class Heartbeat:
    """Renews the lease of one claimed order, in a thread, for as long as the block runs.

    `lost` is set as soon as the order belongs to another worker: what the stage finds will be dropped.
    """

    def __init__(self, leases: Leases, order: OrderRecord, *, lease_s: float, limit_s: float) -> None:
        self._leases = leases
        self._order = order
        self._lease_s = lease_s
        self._end = time.monotonic() + limit_s
        self._stop = threading.Event()
        self.lost = threading.Event()
        self._thread = threading.Thread(target=self._beat, name=f"lease-{order.id}", daemon=True)

    def __enter__(self) -> Heartbeat:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Not joined: a renewal that waits for the database can do no harm, since the version has moved on.
        self._stop.set()

    def _beat(self) -> None:
        while self._is_held_until(time.monotonic() + self._lease_s / 3):
            if time.monotonic() >= self._end:
                log.error("lease.stage_hangs", order_id=self._order.id, version=self._order.version)
                self._trouble("let_go")
                return
            try:
                if not self._leases.renew(self._order, self._lease_s):
                    break
            except StorageUnavailable as error:
                log.warning("lease.not_renewed", order_id=self._order.id, error=error.detail)
                self._trouble("not_renewed")
            except Exception:
                # A thread that dies in silence would lose the order; the next beat may do better.
                log.exception("lease.fault", order_id=self._order.id)
        if not self._stop.is_set():
            self.lost.set()
            log.warning("lease.lost", order_id=self._order.id, version=self._order.version)
            self._trouble("lost")

    def _is_held_until(self, beat: float) -> bool:
        """Wait for the next beat; False as soon as the stage ended or the order is no longer ours."""
        while (left := beat - time.monotonic()) > 0:
            if self._stop.wait(min(left, LOOK_S)):
                return False
            with suppress(Exception):  # the beat itself tells of a database that is away
                if left > LOOK_S and not self._leases.holds(self._order):
                    return False
        return True

    def _trouble(self, what: str) -> None:
        measures.lease_trouble(STAGES[self._order.state], what)
