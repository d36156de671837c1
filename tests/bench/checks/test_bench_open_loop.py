"""The open loop: when orders come, what one rate's figures are, and the search for the highest load."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from schemas.cart import CartDraft
from schemas.errors import EngineUnavailable
from schemas.evidence import Evidence
from services.engines.ports import Decoded
from tests.bench.engine.open_loop import arrivals, bear, highest, offer, point
from tests.bench.orders import sample
from tests.bench.results import Results

ORDERS = sample(4)


class Instant:
    """An engine that answers at once, and fails at one transcript."""

    def __init__(self, fails: str = "") -> None:
        self._fails = fails
        self._counting = threading.Lock()
        self.seen: list[str] = []

    def decode(self, evidence: Evidence) -> Decoded:
        with self._counting:
            self.seen.append(evidence.transcript)
        if evidence.transcript == self._fails:
            raise EngineUnavailable("It fell over")
        return Decoded(
            draft=CartDraft(lines=()), engine="stand-in", grammar="1", prompt_tokens=0, completion_tokens=0,
            seconds=0.0,
        )  # fmt: skip


def test_orders_come_at_the_rate_that_was_asked_and_bunch_as_chance_has_it() -> None:
    times = arrivals(2.0, 4000, 1)
    gaps = [after - before for before, after in zip([0.0, *times], times, strict=False)]
    assert times == sorted(times)
    assert sum(gaps) / len(gaps) == pytest.approx(0.5, rel=0.05)
    # Gaps of a Poisson process are exponential: their deviation is their mean, and e^-1 are longer than it.
    mean = sum(gaps) / len(gaps)
    assert math.sqrt(sum((gap - mean) ** 2 for gap in gaps) / len(gaps)) == pytest.approx(mean, rel=0.1)
    assert sum(gap > mean for gap in gaps) / len(gaps) == pytest.approx(math.exp(-1), abs=0.03)


def test_the_same_seed_gives_the_same_times_and_a_higher_rate_shorter_ones() -> None:
    slow, fast = arrivals(1.0, 50, 7), arrivals(4.0, 50, 7)
    assert slow == arrivals(1.0, 50, 7) != arrivals(1.0, 50, 8)
    assert fast == pytest.approx([time / 4 for time in slow])


def test_an_order_is_sent_though_the_one_before_is_not_done() -> None:
    """A closed loop would hang here: no order is answered until all have come."""
    everyone = threading.Barrier(len(ORDERS), timeout=30)

    class Waits(Instant):
        def decode(self, evidence: Evidence) -> Decoded:
            everyone.wait()
            return super().decode(evidence)

    seconds = offer(Waits(), ORDERS, [0.0, 0.01, 0.02, 0.2])
    assert all(math.isfinite(took) for took in seconds)
    # From its own arrival: the first waited for the last, which came 0.2 s later.
    assert seconds[0] >= 0.2


def test_an_order_without_a_cart_is_never_done() -> None:
    seconds = offer(Instant(fails=ORDERS[1].said), ORDERS, [0.0] * 4)
    assert [math.isfinite(took) for took in seconds] == [True, False, True, True]


def test_the_figures_of_a_rate() -> None:
    found = point(0.5, [1.0, 2.0, 4.0, 8.0], [1.0, 3.0, 2.0, math.inf])
    assert (found["orders"], found["failed"]) == (4, 1)
    assert (found["offered_per_s"], found["done_per_s"]) == (0.5, 0.5)
    assert (found["p50_s"], found["p95_s"], found["p99_s"]) == (2.0, None, None)


def engine(capacity: float, tried: list[float]) -> Callable[[float], float]:
    """A measure whose time grows as a queue's does, and without bound from its capacity on."""

    def measure(rate: float) -> float:
        tried.append(rate)
        return math.inf if rate >= capacity else 1 / (1 - rate / capacity)

    return measure


def test_the_highest_load_is_found_between_two_rates() -> None:
    tried: list[float] = []
    # 1 / (1 - rate / 10) is 2 at a rate of 5.
    assert highest(engine(10, tried), (1, 2, 4, 8, 16), (2.0,)) == {"2": 5.0}
    assert tried == [1, 2, 4, 8, 6.0, 5.0], "no rate beyond the first one over the limit, then two halvings"


def test_each_limit_has_its_own_load() -> None:
    tried: list[float] = []
    found = highest(engine(10, tried), (1, 2, 4, 8, 16), (1.0, 2.0, 20.0))
    assert found == {"1": None, "2": 5.0, "20": 8}
    assert len(tried) == len(set(tried)), "no rate is measured twice"


def test_no_load_is_low_enough_for_an_engine_that_is_slow_alone() -> None:
    tried: list[float] = []
    assert highest(engine(0.05, tried), (0.1, 0.2), (2.0,)) == {"2": None}
    assert tried == [0.1]


def test_an_engine_that_bears_every_rate_is_given_the_last() -> None:
    assert highest(engine(1000, []), (1, 2), (2.0,)) == {"2": 2}


def test_of_two_rates_that_contradict_each_other_the_lower_is_believed() -> None:
    seen = {1.0: 1.0, 2.0: 3.0, 4.0: 1.5, 8.0: 9.0}
    found = highest(lambda rate: seen.get(rate, 1.9), (1, 2, 4, 8), (2.0, 5.0))
    assert found["2"] is not None
    assert found["2"] < 2


def test_what_was_measured_is_not_measured_again(tmp_path: Path) -> None:
    file = tmp_path / "engine.json"
    one = Instant()
    bear(one, ORDERS, Results(file), "stand-in", (400.0,), (600.0,), 0.1)
    found = Results(file).found
    assert found["arrivals stand-in 400"]["orders"] == len(one.seen) == 40
    assert found["highest stand-in"] == {"600": 400.0}
    bear(one, ORDERS, Results(file), "stand-in", (400.0,), (600.0,), 0.1)
    assert len(one.seen) == 40
