"""Sliding-window counters, in this process or in a shared Redis.

The count is that of the current span plus the part of the previous span that is still inside the window. For
one event loop. While the shared Redis is down, each process counts for itself.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from math import floor
from typing import TypeVar

import redis.asyncio
import structlog
from limits.aio.storage import RedisStorage

from infra.redis.address import pool

log = structlog.get_logger(__name__)

Answer = TypeVar("Answer")
Window = tuple[int, float, int, float]
"""As in the library `limits`: count of the previous span and seconds until it expires, then those of the
current span."""

MINUTE_S = 60
# More names in a span are not counted, to bound memory: no limit by address would stop so many addresses.
MAX_NAMES = 100_000
# Seconds that a request waits for the shared Redis, and seconds until it is tried again after a failure.
TIMEOUT_S = 0.15
RETRY_S = 2.0
CONNECTIONS = 16


@dataclass(frozen=True, slots=True)
class Left:
    """How much of a limit is left, and the seconds until the requested cost fits."""

    remaining: int
    wait_s: float


@dataclass(slots=True)
class _Span:
    number: int = 0
    now: Counter[str] = field(default_factory=Counter)
    before: Counter[str] = field(default_factory=Counter)


class Local:
    """Counts of this process, with two methods of the library's storages. The library's own memory storage
    checks every name on each hit (5 ms with 50,000 names); here names expire with their span."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self.spans: dict[int, _Span] = {}

    async def get_sliding_window(self, key: str, expiry: int) -> Window:
        span, left_s = self._turn(expiry)
        return span.before[key], left_s, span.now[key], left_s + expiry

    async def acquire_sliding_window_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        span, left_s = self._turn(expiry)
        if floor(span.before[key] * left_s / expiry) + span.now[key] + amount > limit:
            return False
        if key in span.now or len(span.now) < MAX_NAMES:
            span.now[key] += amount
        return True

    def _turn(self, length_s: int) -> tuple[_Span, float]:
        """Return the current span and the seconds until it ends."""
        at = self._clock()
        number, span = int(at // length_s), self.spans.setdefault(length_s, _Span())
        if number != span.number:
            span.before = span.now if number == span.number + 1 else Counter()
            span.now, span.number = Counter(), number
        return span, length_s - at % length_s


class Counts:
    """Counters for one event loop, in the Redis at `url`, or in this process if it is empty.

    Raises:
        ValueError: as `infra.redis.address.checked`.
    """

    def __init__(self, url: str = "") -> None:
        self._local = Local()
        self._pool: redis.asyncio.ConnectionPool | None = None
        self._shared: RedisStorage | None = None
        self._retry_at = 0.0
        self._connections = asyncio.Semaphore(CONNECTIONS)
        if url:
            self._pool = pool(url, TIMEOUT_S)
            self._shared = RedisStorage(
                "async+redis://",  # the pool knows the address
                implementation="redispy",
                key_prefix="saycart",
                connection_pool=self._pool,  # type: ignore[arg-type]  # passed on to redis-py
            )

    async def hit(self, most: int, name: str, *, cost: int = 1, span_s: int = MINUTE_S) -> bool:
        """Count `cost` and return True, or return False if that would exceed `most` in a span."""
        key = f"{name}/{span_s}"
        return await self._ask(lambda at: at.acquire_sliding_window_entry(key, most, span_s, cost))

    async def left(self, most: int, name: str, *, cost: int = 1, span_s: int = MINUTE_S) -> Left:
        """Return what is left, and when `cost` fits, without counting."""
        key = f"{name}/{span_s}"
        return left_of(most, cost, await self._ask(lambda at: at.get_sliding_window(key, span_s)), span_s)

    async def close(self) -> None:
        """Close the connections to Redis."""
        if self._pool:
            await self._pool.disconnect()

    async def _ask(self, question: Callable[[Local | RedisStorage], Awaitable[Answer]]) -> Answer:
        if self._shared and time.monotonic() >= self._retry_at:
            try:
                async with asyncio.timeout(TIMEOUT_S), self._connections:
                    return await question(self._shared)
            except (redis.RedisError, OSError) as error:  # including TimeoutError
                # Without the message, which names the host.
                log.warning("rates.counted_here", error=type(error).__name__)
                self._retry_at = time.monotonic() + RETRY_S
        return await question(self._local)


def left_of(most: int, cost: int, window: Window, span_s: int = MINUTE_S) -> Left:
    """Return what a window leaves of a limit."""
    before, before_s, now, now_s = window
    used = floor(before * before_s / span_s) + now
    room = max(0, most - cost)
    if now <= room:
        wait_s = before_s - (room - now) * span_s / before if before else 0.0
    else:  # only after the current span has become the previous one
        wait_s = now_s - span_s + span_s * (1 - room / now)
    return Left(max(0, most - used), max(0.0, wait_s))
