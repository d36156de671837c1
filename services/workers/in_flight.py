"""How many messages may be in flight to each endpoint, so that one endpoint can't starve the others.

An endpoint that responds in time may have several. A slow one gets one at a time until it responds in time
again, and all slow ones together get at most half of the total: however many are dead, the rest go on.
"""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Iterable, Iterator

IN_FLIGHT = 32
EACH = 8
# Less than the connection timeout: an endpoint that drops packets is slow, one that refuses at once is not.
SLOW_S = 2.0


class InFlight:
    """Messages in flight of one courier. Thread-safe."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._slow: set[str] = set()
        self._lock = threading.Lock()

    def capacities(self, endpoints: Iterable[str]) -> Iterator[tuple[str, int]]:
        """Yield endpoints that may be sent to, and how many messages each may get now. Computed lazily: call
        `sent` before taking the next."""
        candidates = list(endpoints)
        # Shuffled, so that none is always the last.
        random.shuffle(candidates)
        for endpoint in sorted(candidates, key=self._slow.__contains__):
            if (capacity := self._capacity(endpoint)) > 0:
                yield endpoint, capacity

    def sent(self, endpoint: str, count: int) -> None:
        """Count `count` more messages in flight."""
        with self._lock:
            self._counts[endpoint] += count

    def returned(self, endpoint: str, *, slow: bool | None) -> None:
        """Count one message less; `slow` if it took over `SLOW_S`, None if nothing was posted."""
        with self._lock:
            self._counts[endpoint] -= 1
            if not self._counts[endpoint]:
                del self._counts[endpoint]
            if slow is not None:
                (self._slow.add if slow else self._slow.discard)(endpoint)

    def _capacity(self, endpoint: str) -> int:
        with self._lock:
            free = IN_FLIGHT - self._counts.total()
            if endpoint not in self._slow:
                return min(free, EACH - self._counts[endpoint])
            slow = sum(count for key, count in self._counts.items() if key in self._slow)
            return min(free, IN_FLIGHT // 2 - slow, 1 - self._counts[endpoint])
