"""How many messages may be on their way to each endpoint, so that none takes the room of the others.

An endpoint that answers in time may have a good many. One whose last post took long gets one at a time until
it answers in time again, and all such endpoints together get half of the room at most: so however many are
dead, the rest go on.
"""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Iterable, Iterator

IN_FLIGHT = 32
EACH = 8
# Under the time that a connection is waited for: who drops packets is slow, who refuses at once is not.
SLOW_S = 2.0


class Lanes:
    """Counts for one courier; from any thread."""

    def __init__(self) -> None:
        self._flying: Counter[str] = Counter()
        self._slow: set[str] = set()
        self._lock = threading.Lock()

    def rooms(self, endpoints: Iterable[str]) -> Iterator[tuple[str, int]]:
        """Endpoints in the order in which they are to be asked for, with how many may set out to each. Each
        is worked out when it is asked for: call `off` before the next."""
        wanted = list(endpoints)
        # By chance, so that none is always the last.
        random.shuffle(wanted)
        for endpoint in sorted(wanted, key=self._is_slow):
            if (room := self._room(endpoint)) > 0:
                yield endpoint, room

    def off(self, endpoint: str, count: int) -> None:
        """So many set out."""
        with self._lock:
            self._flying[endpoint] += count

    def back(self, endpoint: str, *, slow: bool | None) -> None:
        """One came back; `slow`: whether that took over `SLOW_S`, None where nothing was posted."""
        with self._lock:
            self._flying[endpoint] -= 1
            if not self._flying[endpoint]:
                del self._flying[endpoint]
            if slow is not None:
                (self._slow.add if slow else self._slow.discard)(endpoint)

    def _is_slow(self, endpoint: str) -> bool:
        with self._lock:
            return endpoint in self._slow

    def _room(self, endpoint: str) -> int:
        with self._lock:
            free = IN_FLIGHT - self._flying.total()
            if endpoint not in self._slow:
                return min(free, EACH - self._flying[endpoint])
            beside = sum(count for key, count in self._flying.items() if key in self._slow)
            return min(free, IN_FLIGHT // 2 - beside, 1 - self._flying[endpoint])
