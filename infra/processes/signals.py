"""TERM and INT as something that a process can wait for.

A handler that sets a `threading.Event` can stop a process from ever ending: it runs in the main thread, and
when the signal falls while that thread is inside `Event.wait` and holds its lock, `set` waits for that lock
for good. Any lock taken in Python has a second gap: a signal just before the blocking call wakes nothing. The
interpreter's wake-up descriptor is written by the C handler itself, so there is no gap to fall into.
"""

from __future__ import annotations

import os
import select
import signal

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class StopSignal:
    """Takes over TERM and INT of this process. Make one, in the main thread."""

    def __init__(self) -> None:
        self._read, write = os.pipe()
        os.set_blocking(write, False)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        for number in STOP_SIGNALS:
            signal.signal(number, _only_wake)

    def wait(self, timeout_s: float | None = None) -> bool:
        """True as soon as a signal has come, now and ever after; False when `timeout_s` went by without."""
        return bool(select.select([self._read], [], [], timeout_s)[0])


def _only_wake(*_: object) -> None:
    """A handler must be there, or the signal keeps its default action."""
