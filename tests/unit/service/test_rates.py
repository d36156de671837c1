"""Counting a minute: what a window lets in, when there is room again, and how much memory it takes."""

from __future__ import annotations

from unittest.mock import Mock

import pytest

from infra import rates
from infra.rates import Counts, Left, Local, left_of

pytestmark = pytest.mark.anyio


@pytest.fixture
def clock() -> Mock:
    return Mock(return_value=3600.0 * 1_000_000)


@pytest.mark.parametrize("span_s", [60, 3600])
async def test_a_span_slides(clock: Mock, span_s: int) -> None:
    local = Local(clock)

    async def hit(who: str, cost: int = 1) -> bool:
        return await local.acquire_sliding_window_entry(who, 10, span_s, cost)

    assert [await hit("ann") for _ in range(12)] == [True] * 10 + [False] * 2
    assert await hit("bob")
    clock.return_value += span_s  # all ten were sent at the very start, so all still count
    assert not await hit("ann")
    clock.return_value += span_s / 2  # half of them
    assert [await hit("ann") for _ in range(6)] == [True] * 5 + [False]
    clock.return_value += 2 * span_s
    assert await hit("ann", 10)
    assert not await hit("ann")


@pytest.mark.parametrize("sent", [1, 7, 10])
@pytest.mark.parametrize("later_s", [0.0, 13.0, 59.0, 61.0, 100.0])
@pytest.mark.parametrize("cost", [1, 5])
async def test_there_is_room_at_the_time_told_not_much_before(
    clock: Mock, sent: int, later_s: float, cost: int
) -> None:
    local = Local(clock)

    async def left() -> Left:
        return left_of(10, cost, await local.get_sliding_window("ann", 60))

    clock.return_value += 20
    assert await local.acquire_sliding_window_entry("ann", 10, 60, sent)
    clock.return_value += later_s
    wait_s = (await left()).wait_s
    assert (wait_s == 0) == ((await left()).remaining >= cost)
    early_s = min(wait_s, 60 / sent + 1)  # so often one of those sent is forgotten
    clock.return_value += wait_s - early_s
    assert not wait_s or (await left()).remaining < cost
    clock.return_value += early_s + 0.01
    assert await local.acquire_sliding_window_entry("ann", 10, 60, cost)


async def test_memory_is_not_the_callers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates, "MAX_NAMES", 100)
    counts = Counts()
    for number in range(300):
        assert await counts.hit(1, str(number))
    assert not await counts.hit(1, "99")
    assert await counts.hit(1, "100"), "those that came after are not counted"
    assert len(counts._local.spans[60].now) == 100


def test_another_url_than_of_a_redis_is_refused() -> None:
    with pytest.raises(ValueError, match="not a Redis address"):
        Counts("http://127.0.0.1/0")


async def test_what_is_left_counts_nothing() -> None:
    counts = Counts()
    assert [(await counts.left(2, "k", cost=2)).remaining for _ in range(3)] == [2, 2, 2]
    assert await counts.hit(2, "k", cost=2)
    assert (await counts.left(2, "k")).remaining == 0


async def test_a_name_is_counted_apart_in_each_span() -> None:
    counts = Counts()
    assert [await counts.hit(1, "k", span_s=span_s) for span_s in (60, 3600, 60)] == [True, True, False]
