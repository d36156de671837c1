"""Wait for TERM and INT without races.

A handler that sets a `threading.Event` can deadlock: it runs in the main thread, and if that thread is inside
`Event.wait` and holds its lock, `set` waits for the lock forever. Any lock in Python has a second race: a
signal just before the blocking call wakes nothing. The interpreter's wake-up descriptor is written by the C
handler itself, and has neither.
"""

from __future__ import annotations

import os
import select
import signal

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class StopSignal:
    """Handles TERM and INT of this process. Create one, in the main thread."""

    def __init__(self) -> None:
        self._read, write = os.pipe()
        os.set_blocking(write, False)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        for number in STOP_SIGNALS:
            signal.signal(number, _only_wake)

    def wait(self, timeout_s: float | None = None) -> bool:
        """Return True once a signal has arrived, also on later calls; False after `timeout_s`."""
        return bool(select.select([self._read], [], [], timeout_s)[0])


def _only_wake(*_: object) -> None:
    """Do nothing: without a handler the signal keeps its default action."""
