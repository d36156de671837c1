"""Real processes are killed, frozen and disconnected under load, and no accepted order is lost or doubled.

`make test` has three runs of about thirty seconds. `make chaos` sets FAULTS_LONG, for long runs and every
outage of a store. The short form prints times without asserting them: a slow machine is not a fault.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.faults import cuts, kills
from tests.faults.bench import POSTGRESQL, SQLITE, Bench

LONG, SEED = "FAULTS_LONG" in os.environ, 20261121
pytestmark = pytest.mark.stack
long_form = pytest.mark.skipif(not LONG, reason="an hour or two, as root: make chaos")
on_both = pytest.mark.parametrize("database", [SQLITE, POSTGRESQL])
DRAIN_S, RECOVER_S, EXTRA_PERCENT = 120.0, 60.0, 5.0


@contextmanager
def bench_on(database: str, request: pytest.FixtureRequest) -> Iterator[Bench]:
    server = request.getfixturevalue("postgresql") if database == POSTGRESQL else None
    with Bench(database, long=LONG, seed=SEED, server=server) as bench:
        yield bench


def nothing_lost_nothing_doubled(figures: dict[str, Any]) -> None:
    print(json.dumps(figures))
    wrong = {
        name: figures[name] for name in ("lost", "doubled", "broken histories", "refused") if figures[name]
    }
    assert not wrong, (wrong, figures["trouble"])
    assert figures["accepted"] == figures["sent"], "an order was never accepted"
    # An order that keeps killing its worker goes to review; that must be rare.
    assert figures["ended"].get("completed", 0) >= 0.95 * figures["accepted"], figures["ended"]


@on_both
def test_random_kills_flushes_and_sleep(database: str, request: pytest.FixtureRequest) -> None:
    with bench_on(database, request) as bench:
        figures = kills.chaos(bench)
    nothing_lost_nothing_doubled(figures)
    assert {"kill redis", "flush Redis", "kill api", "freeze worker"} <= figures["faults"].keys()
    if LONG:
        assert figures["drained s"] <= DRAIN_S
        assert figures["extra runs %"] < EXTRA_PERCENT


@pytest.mark.parametrize("database", [SQLITE, pytest.param(POSTGRESQL, marks=long_form)])
def test_a_death_at_each_boundary(database: str, request: pytest.FixtureRequest) -> None:
    with bench_on(database, request) as bench:
        figures = kills.boundaries(bench)
    nothing_lost_nothing_doubled(figures)
    assert figures["fewest kills at a point"] >= (50 if LONG else 1)


@long_form
@pytest.mark.parametrize(
    ("outage", "database"),
    [
        (cuts.database_killed, POSTGRESQL),
        (cuts.database_cut, POSTGRESQL),
        (cuts.redis_cut, SQLITE),
        (cuts.redis_cut, POSTGRESQL),
        (cuts.locked, SQLITE),
        (cuts.disk_full, SQLITE),
        (cuts.disk_full, POSTGRESQL),
    ],
)
def test_a_store_that_is_away(outage: Callable[[Bench], dict[str, Any]], database: str) -> None:
    with Bench(database, long=LONG, seed=SEED) as bench:  # has its own server, which may be killed
        figures = outage(bench)
    nothing_lost_nothing_doubled(figures)
    assert figures["a new order completed after s"] is not None
    assert figures["a new order completed after s"] <= RECOVER_S
