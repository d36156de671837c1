"""The short form of the fault runs, with a fixed seed: what `make chaos` does at length.

Three runs of some thirty seconds each. Times are reported and not asserted: a slow machine is no fault.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.faults import kills, targets
from tests.faults.bench import POSTGRESQL, SQLITE, Bench

pytestmark = pytest.mark.stack
SEED = 20261121


def nothing_lost_nothing_doubled(figures: dict[str, Any]) -> None:
    wrong = {
        name: figures.get(name, 0)
        for name in ("lost", "doubled", "broken histories", "refused")
        if figures.get(name, 0)
    }
    assert not wrong, (wrong, figures["trouble"])
    assert figures["accepted"] == figures["sent"], "an order was never accepted"
    assert targets.mostly_completed(figures), figures["ended"]


@pytest.mark.parametrize("database", [SQLITE, POSTGRESQL])
def test_random_kills_flushes_and_sleep(database: str, request: pytest.FixtureRequest) -> None:
    server = request.getfixturevalue("postgresql") if database == POSTGRESQL else None
    with Bench(database, long=False, seed=SEED, server=server) as bench:
        figures = kills.chaos(bench)
    nothing_lost_nothing_doubled(figures)
    assert {"kill redis", "flush Redis", "kill api", "freeze worker"} <= figures["faults"].keys()


def test_a_death_at_each_boundary() -> None:
    with Bench(SQLITE, long=False, seed=SEED) as bench:
        figures = kills.boundaries(bench)
    nothing_lost_nothing_doubled(figures)
    assert figures["kills"] == figures["points"], "each boundary was to kill once"
