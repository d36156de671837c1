"""Counting for limits a minute, by the library `limits`: in this process, or in a Redis that several share.

Knows no keys and no orders. A sliding window: what counts is this minute, and of the last one the part that
still lies within sixty seconds. All of it runs on one event loop and never waits for long: while the shared
Redis is away each process counts for itself.
"""

# ruff: noqa: ARG002 (the signatures are the library's)

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from math import floor
from typing import TypeVar

import redis.asyncio
import structlog
from limits import RateLimitItem, RateLimitItemPerMinute
from limits.aio.storage import RedisStorage, Storage
from limits.aio.storage.base import SlidingWindowCounterSupport
from limits.aio.strategies import SlidingWindowCounterRateLimiter

from infra.redis.address import redis_address

log = structlog.get_logger(__name__)

Answer = TypeVar("Answer")

WINDOW_S = 60
# Past so many names in a minute further ones are not counted: they come from more addresses than a limit by
# address could hold, and memory must not be theirs.
MOST_NAMES = 100_000
# Seconds that a request may wait for the shared Redis; after that it is away.
PATIENCE_S = 0.15
AGAIN_S = 2.0
CONNECTIONS = 16
_PREFIX = "saycart"


@dataclass(frozen=True, slots=True)
class Left:
    """What a refused caller is told: how much of the limit is left now, and in how many seconds what it asked
    for will fit."""

    remaining: int
    wait_s: float


class LocalStorage(Storage, SlidingWindowCounterSupport):
    """Counts of this process. The library's own looks at every name on each hit to find those that are over
    (5 ms on the event loop with 50,000 names); here they go together, with their minute."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        super().__init__()
        self._clock = clock
        self._minute = 0
        self._now: Counter[str] = Counter()
        self._before: Counter[str] = Counter()

    @property
    def base_exceptions(self) -> type[Exception]:
        return ValueError

    def _turn(self) -> float:
        """Seconds until this minute is over."""
        at = self._clock()
        minute = int(at // WINDOW_S)
        if minute != self._minute:
            self._before = self._now if minute == self._minute + 1 else Counter()
            self._now, self._minute = Counter(), minute
        return WINDOW_S - at % WINDOW_S

    async def get_sliding_window(self, key: str, expiry: int) -> tuple[int, float, int, float]:
        left_s = self._turn()
        return self._before[key], left_s, self._now[key], left_s + WINDOW_S

    async def acquire_sliding_window_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        left_s = self._turn()
        if floor(self._before[key] * left_s / WINDOW_S) + self._now[key] + amount > limit:
            return False
        if key in self._now or len(self._now) < MOST_NAMES:
            self._now[key] += amount
        return True

    async def clear_sliding_window(self, key: str, expiry: int) -> None:
        await self.clear(key)

    async def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        self._turn()
        self._now[key] += amount
        return self._now[key]

    async def get(self, key: str) -> int:
        self._turn()
        return self._now[key]

    async def get_expiry(self, key: str) -> float:
        return self._clock() + self._turn()

    async def check(self) -> bool:
        return True

    async def reset(self) -> int | None:
        names = len(self._now)
        self._now, self._before = Counter(), Counter()
        return names

    async def clear(self, key: str) -> None:
        self._now.pop(key, None)
        self._before.pop(key, None)


class Counts:
    """One for each event loop. `url` names a Redis; empty: this process counts alone.

    Raises:
        ValueError: as `redis_address`.
    """

    def __init__(self, url: str = "") -> None:
        self._local = LocalStorage()
        self._pool: redis.asyncio.ConnectionPool | None = None
        self._shared: RedisStorage | None = None
        self._away: asyncio.Task[None] | None = None
        # A pool of Sentinel's refuses whom it has no connection for, where others let them wait.
        self._room = asyncio.Semaphore(CONNECTIONS)
        if url:
            self._pool = redis_address(url).pool(PATIENCE_S)
            self._shared = RedisStorage(
                "async+redis://",  # the pool knows the address
                implementation="redispy",
                key_prefix=_PREFIX,
                connection_pool=self._pool,  # type: ignore[arg-type]  # passed on to redis-py, which takes it
            )

    async def hit(self, most: int, *names: str, cost: int = 1) -> bool:
        """Count `cost` against a limit of `most` a minute, unless it is over it: then False, and nothing is
        counted."""
        item = RateLimitItemPerMinute(most, namespace=_PREFIX)
        return await self._ask(lambda at: SlidingWindowCounterRateLimiter(at).hit(item, *names, cost=cost))

    async def fits(self, most: int, *names: str, cost: int = 1) -> bool:
        """Whether `hit` would be True now."""
        item = RateLimitItemPerMinute(most, namespace=_PREFIX)
        return await self._ask(lambda at: SlidingWindowCounterRateLimiter(at).test(item, *names, cost=cost))

    async def left(self, most: int, *names: str, cost: int = 1) -> Left:
        """For what was refused just now."""
        item = RateLimitItemPerMinute(most, namespace=_PREFIX)
        return left_of(most, cost, await self._ask(lambda at: _window(at, item, names)))

    async def close(self) -> None:
        """Let go of the Redis."""
        if self._away:
            self._away.cancel()
            with suppress(asyncio.CancelledError):
                await self._away
        if self._pool:
            await self._pool.disconnect()

    async def _ask(self, question: Callable[[Storage], Awaitable[Answer]]) -> Answer:
        if self._shared and not self._away:
            try:
                async with asyncio.timeout(PATIENCE_S), self._room:
                    return await question(self._shared)
            except (redis.RedisError, OSError) as error:  # a timeout is one of them
                if self._away is None:
                    # Not the message: it names the host.
                    log.warning("rates.counted_here", error=type(error).__name__)
                    self._away = asyncio.create_task(self._return(self._shared))
        return await question(self._local)

    async def _return(self, shared: RedisStorage) -> None:
        """Until the Redis counts again. No request tries it meanwhile, so none waits for it."""
        while True:
            await asyncio.sleep(AGAIN_S)
            try:
                # Nobody waits for this one, so it has the time to ask one Sentinel after the other.
                async with asyncio.timeout(AGAIN_S):
                    await shared.acquire_sliding_window_entry("probe", 1_000_000, WINDOW_S)
                break
            except (redis.RedisError, OSError):
                continue
        log.info("rates.shared_again")
        self._away = None


async def _window(at: Storage, item: RateLimitItem, names: tuple[str, ...]) -> tuple[int, float, int, float]:
    assert isinstance(at, SlidingWindowCounterSupport)
    return await at.get_sliding_window(item.key_for(*names), item.get_expiry())


def left_of(most: int, cost: int, window: tuple[int, float, int, float]) -> Left:
    """What a window comes to: (count of the minute before, seconds until it is forgotten, count of this
    minute, seconds until that is)."""
    before, before_s, now, now_s = window
    used = floor(before * before_s / WINDOW_S) + now
    room = max(0, most - cost)
    if now <= room:
        wait_s = before_s - (room - now) * WINDOW_S / before if before else 0.0
    else:  # only once this minute has become the one before
        wait_s = now_s - WINDOW_S + WINDOW_S * (1 - room / now)
    return Left(max(0, most - used), max(0.0, wait_s))
