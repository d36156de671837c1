"""Counting what comes in a span of time: in this process, or in a Redis that several share.

Knows no keys and no orders. A sliding window: what counts is the span that runs, and of the one before the
part that still lies within. All of it runs on one event loop and never waits for long: while the shared Redis
is away each process counts for itself.
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
"""As the library `limits` has it: count of the span before, seconds until it is forgotten, count of the one
that runs, seconds until that is."""

MINUTE_S = 60
# Past so many names in a span further ones are not counted: they come from more addresses than a limit by
# address could hold, and memory must not be theirs.
MOST_NAMES = 100_000
# Seconds that a request may wait for the shared Redis; after that it is away, and not asked for some more.
PATIENCE_S = 0.15
AGAIN_S = 2.0
CONNECTIONS = 16


@dataclass(frozen=True, slots=True)
class Left:
    """How much of a limit is left now, and in how many seconds what was asked for will fit."""

    remaining: int
    wait_s: float


@dataclass(slots=True)
class _Span:
    number: int = 0
    now: Counter[str] = field(default_factory=Counter)
    before: Counter[str] = field(default_factory=Counter)


class Local:
    """Counts of this process, in the two calls of the library's storages that are needed here. The library's
    own looks at every name on each hit to find those that are over (5 ms on the event loop with 50,000
    names); here they go together, with their span."""

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
        if key in span.now or len(span.now) < MOST_NAMES:
            span.now[key] += amount
        return True

    def _turn(self, length_s: int) -> tuple[_Span, float]:
        """The span that runs now, and the seconds until it is over."""
        at = self._clock()
        number, span = int(at // length_s), self.spans.setdefault(length_s, _Span())
        if number != span.number:
            span.before = span.now if number == span.number + 1 else Counter()
            span.now, span.number = Counter(), number
        return span, length_s - at % length_s


class Counts:
    """One for each event loop. `url` names a Redis; empty: this process counts alone.

    Raises:
        ValueError: as `infra.redis.address.checked`.
    """

    def __init__(self, url: str = "") -> None:
        self._local = Local()
        self._pool: redis.asyncio.ConnectionPool | None = None
        self._shared: RedisStorage | None = None
        self._away_until = 0.0
        # No more connections than this; others wait for theirs.
        self._room = asyncio.Semaphore(CONNECTIONS)
        if url:
            self._pool = pool(url, PATIENCE_S)
            self._shared = RedisStorage(
                "async+redis://",  # the pool knows the address
                implementation="redispy",
                key_prefix="saycart",
                connection_pool=self._pool,  # type: ignore[arg-type]  # passed on to redis-py, which takes it
            )

    async def hit(self, most: int, name: str, *, cost: int = 1, span_s: int = MINUTE_S) -> bool:
        """Count `cost` against a limit of `most` in a span, unless it is over it: then False, and nothing is
        counted."""
        key = f"{name}/{span_s}"
        return await self._ask(lambda at: at.acquire_sliding_window_entry(key, most, span_s, cost))

    async def left(self, most: int, name: str, *, cost: int = 1, span_s: int = MINUTE_S) -> Left:
        """What is left, and when `cost` fits; counts nothing."""
        key = f"{name}/{span_s}"
        return left_of(most, cost, await self._ask(lambda at: at.get_sliding_window(key, span_s)), span_s)

    async def close(self) -> None:
        """Let go of the Redis."""
        if self._pool:
            await self._pool.disconnect()

    async def _ask(self, question: Callable[[Local | RedisStorage], Awaitable[Answer]]) -> Answer:
        if self._shared and time.monotonic() >= self._away_until:
            try:
                async with asyncio.timeout(PATIENCE_S), self._room:
                    return await question(self._shared)
            except (redis.RedisError, OSError) as error:  # a timeout is one of them
                # Not the message: it names the host.
                log.warning("rates.counted_here", error=type(error).__name__)
                self._away_until = time.monotonic() + AGAIN_S
        return await question(self._local)


def left_of(most: int, cost: int, window: Window, span_s: int = MINUTE_S) -> Left:
    """What a window comes to."""
    before, before_s, now, now_s = window
    used = floor(before * before_s / span_s) + now
    room = max(0, most - cost)
    if now <= room:
        wait_s = before_s - (room - now) * span_s / before if before else 0.0
    else:  # only once this span has become the one before
        wait_s = now_s - span_s + span_s * (1 - room / now)
    return Left(max(0, most - used), max(0.0, wait_s))
