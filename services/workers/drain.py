"""How a worker stops: finish, or give back, within a limit.

Celery stops taking messages at TERM and waits for what runs, however long. This waits `limit_s` seconds with
it, then gives back what this worker still holds, rings for it, and ends the process with its children. A
result that comes after all is dropped, since giving back changes the version.

The signal handler only writes into a pipe: no lock may be taken there, and starting a thread takes one.
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
"""How long a stopping worker may finish what it has: most stages take a few seconds, and a supervisor waits
no longer (`docs/operations.md`)."""


class Drain:
    """Made in a worker's main process; `begin` may be called from a signal handler."""

    def __init__(
        self, limit_s: float, give_back: Callable[[], int], children: Callable[[], list[int]]
    ) -> None:
        self._limit_s = limit_s
        self._give_back = give_back
        self._children = children
        self._read, self._write = os.pipe()
        threading.Thread(target=self._wait, name="drain", daemon=True).start()

    def begin(self) -> None:
        """Stop, from now on."""
        os.write(self._write, b".")

    def _wait(self) -> None:
        os.read(self._read, 1)
        time.sleep(self._limit_s)
        # Still here: a stage is at work. Its orders go first: with its children gone the process might end
        # by itself before it has given anything back.
        try:
            log.warning("worker.gave_back", orders=self._give_back())
        except Exception:
            log.exception("worker.gave_nothing_back")
        for pid in self._children():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        os._exit(0)
