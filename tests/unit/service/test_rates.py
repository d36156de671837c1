"""Counting a minute: what a window lets in, when there is room again, and how much memory it takes."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest
from limits import RateLimitItemPerMinute
from limits.aio.strategies import SlidingWindowCounterRateLimiter

from infra import rates
from infra.rates import Counts, LocalStorage, left_of

Result = TypeVar("Result")


class Clock:
    def __init__(self) -> None:
        self.now = 60.0 * 1_000_000

    def __call__(self) -> float:
        return self.now


def run(coroutine: Coroutine[Any, Any, Result]) -> Result:
    return asyncio.run(coroutine)


def test_a_minute_slides() -> None:
    async def steps() -> None:
        clock = Clock()
        limiter = SlidingWindowCounterRateLimiter(LocalStorage(clock))
        item = RateLimitItemPerMinute(10)
        assert [await limiter.hit(item, "ann") for _ in range(12)] == [True] * 10 + [False] * 2
        assert await limiter.hit(item, "bob")
        clock.now += 60  # all ten were sent at the minute's very start, so all still count
        assert not await limiter.hit(item, "ann")
        clock.now += 30  # half of them
        assert [await limiter.hit(item, "ann") for _ in range(6)] == [True] * 5 + [False]
        clock.now += 120
        assert await limiter.hit(item, "ann", cost=10)
        assert not await limiter.hit(item, "ann")

    run(steps())


@pytest.mark.parametrize("sent", [1, 7, 10])
@pytest.mark.parametrize("later_s", [0.0, 13.0, 59.0, 61.0, 100.0])
@pytest.mark.parametrize("cost", [1, 5])
def test_there_is_room_after_the_time_told_and_not_much_before(sent: int, later_s: float, cost: int) -> None:
    async def steps() -> None:
        clock = Clock()
        storage = LocalStorage(clock)
        limiter, item = SlidingWindowCounterRateLimiter(storage), RateLimitItemPerMinute(10)
        clock.now += 20
        await limiter.hit(item, "ann", cost=sent)
        clock.now += later_s
        left = left_of(10, cost, await storage.get_sliding_window(item.key_for("ann"), 60))
        assert (left.wait_s == 0) == await limiter.test(item, "ann", cost=cost)
        early_s = min(left.wait_s, 60 / sent + 1)  # so often one of those sent is forgotten
        clock.now += left.wait_s - early_s
        assert not left.wait_s or not await limiter.test(item, "ann", cost=cost)
        clock.now += early_s + 0.01
        assert await limiter.test(item, "ann", cost=cost)

    run(steps())


def test_what_is_left_of_nothing_sent() -> None:
    left = left_of(10, 20, (0, 0.0, 0, 60.0))
    assert (left.remaining, left.wait_s) == (10, 0)


def test_memory_is_not_the_callers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates, "MOST_NAMES", 100)

    async def steps() -> None:
        counts = Counts()
        for number in range(300):
            assert await counts.hit(1, "address", str(number))
        assert not await counts.hit(1, "address", "99")
        assert await counts.hit(1, "address", "100"), "those that came after are not counted"
        assert len(counts._local._now) == 100

    run(steps())


def test_another_url_than_of_a_redis_is_refused() -> None:
    with pytest.raises(ValueError, match="no address of a Redis"):
        Counts("http://127.0.0.1/0")


def test_fits_counts_nothing() -> None:
    async def steps() -> None:
        counts = Counts()
        for _ in range(3):
            assert await counts.fits(2, "key", "k", cost=2)
        assert await counts.hit(2, "key", "k", cost=2)
        assert not await counts.fits(2, "key", "k")
        assert (await counts.left(2, "key", "k")).remaining == 0

    run(steps())
