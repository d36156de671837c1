"""One answer at a time, and how many wait for theirs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Turns:
    """A lock that knows who waits for it."""

    def __init__(self) -> None:
        self._one_at_a_time = threading.Lock()
        self._counting = threading.Lock()
        self._here = 0

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for one's turn, and have it for as long as the block runs."""
        with self._counting:
            self._here += 1
        try:
            with self._one_at_a_time:
                yield
        finally:
            with self._counting:
                self._here -= 1

    @property
    def running(self) -> int:
        return int(self._one_at_a_time.locked())

    @property
    def waiting(self) -> int:
        return max(0, self._here - self.running)
