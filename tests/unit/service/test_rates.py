"""Counting a minute: what a window lets in, when there is room again, and how much memory it takes."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest

from infra import rates
from infra.rates import Counts, Left, Local, left_of

Result = TypeVar("Result")


class Clock:
    def __init__(self) -> None:
        self.now = 3600.0 * 1_000_000

    def __call__(self) -> float:
        return self.now


def run(coroutine: Coroutine[Any, Any, Result]) -> Result:
    return asyncio.run(coroutine)


@pytest.mark.parametrize("span_s", [60, 3600])
def test_a_span_slides(span_s: int) -> None:
    async def steps() -> None:
        clock = Clock()
        local = Local(clock)

        async def hit(who: str, cost: int = 1) -> bool:
            return await local.acquire_sliding_window_entry(who, 10, span_s, cost)

        assert [await hit("ann") for _ in range(12)] == [True] * 10 + [False] * 2
        assert await hit("bob")
        clock.now += span_s  # all ten were sent at the very start, so all still count
        assert not await hit("ann")
        clock.now += span_s / 2  # half of them
        assert [await hit("ann") for _ in range(6)] == [True] * 5 + [False]
        clock.now += 2 * span_s
        assert await hit("ann", 10)
        assert not await hit("ann")

    run(steps())


@pytest.mark.parametrize("sent", [1, 7, 10])
@pytest.mark.parametrize("later_s", [0.0, 13.0, 59.0, 61.0, 100.0])
@pytest.mark.parametrize("cost", [1, 5])
def test_there_is_room_after_the_time_told_and_not_much_before(sent: int, later_s: float, cost: int) -> None:
    async def steps() -> None:
        clock = Clock()
        local = Local(clock)

        async def left() -> Left:
            return left_of(10, cost, await local.get_sliding_window("ann", 60))

        clock.now += 20
        assert await local.acquire_sliding_window_entry("ann", 10, 60, sent)
        clock.now += later_s
        wait_s = (await left()).wait_s
        assert (wait_s == 0) == ((await left()).remaining >= cost)
        early_s = min(wait_s, 60 / sent + 1)  # so often one of those sent is forgotten
        clock.now += wait_s - early_s
        assert not wait_s or (await left()).remaining < cost
        clock.now += early_s + 0.01
        assert await local.acquire_sliding_window_entry("ann", 10, 60, cost)

    run(steps())


def test_memory_is_not_the_callers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates, "MAX_NAMES", 100)

    async def steps() -> None:
        counts = Counts()
        for number in range(300):
            assert await counts.hit(1, str(number))
        assert not await counts.hit(1, "99")
        assert await counts.hit(1, "100"), "those that came after are not counted"
        assert len(counts._local.spans[60].now) == 100

    run(steps())


def test_another_url_than_of_a_redis_is_refused() -> None:
    with pytest.raises(ValueError, match="not a Redis address"):
        Counts("http://127.0.0.1/0")


def test_what_is_left_counts_nothing() -> None:
    async def steps() -> None:
        counts = Counts()
        assert [(await counts.left(2, "k", cost=2)).remaining for _ in range(3)] == [2, 2, 2]
        assert await counts.hit(2, "k", cost=2)
        assert (await counts.left(2, "k")).remaining == 0

    run(steps())


def test_a_name_is_counted_apart_in_each_span() -> None:
    async def steps() -> None:
        counts = Counts()
        assert [await counts.hit(1, "k", span_s=span_s) for span_s in (60, 3600, 60)] == [True, True, False]

    run(steps())
