"""Stops a worker within a limit: its stages end, or their orders are released.

On SIGTERM, Celery stops taking messages and waits for running tasks. After `limit_s` seconds this releases
the orders that the worker still holds, and ends the process with its children. Late results are dropped,
since a release changes the version.

The signal handler only writes to a pipe: it must not take a lock, and starting a thread takes one.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress

import structlog

log = structlog.get_logger()

DRAIN_S = 15.0
"""How long a stopping worker may finish its stages; supervisors wait a little longer
(`docs/operations.md`)."""


class Drain:
    """Belongs to a worker's main process; `begin` may be called from a signal handler."""

    def __init__(
        self, limit_s: float, give_back: Callable[[], int], children: Callable[[], list[int]]
    ) -> None:
        self._limit_s = limit_s
        self._give_back = give_back
        self._children = children
        self._read, self._write = os.pipe()
        threading.Thread(target=self._wait, name="drain", daemon=True).start()

    def begin(self) -> None:
        """Start the countdown."""
        os.write(self._write, b".")

    def _wait(self) -> None:
        os.read(self._read, 1)
        time.sleep(self._limit_s)
        # Orders first: without its children the process might end before they are released.
        try:
            log.warning("worker.gave_back", orders=self._give_back())
        except Exception:
            log.exception("worker.gave_nothing_back")
        for pid in self._children():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        os._exit(0)
