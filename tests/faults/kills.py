"""Scenarios in which processes die or stop: at a boundary, and at random."""

from __future__ import annotations

import random
import time
from collections import Counter
from typing import Any

from tests.faults.bench import Bench, settle
from tests.faults.judge import settled
from tests.faults.ledger import Ledger
from tests.faults.monkey import Monkey, schedule
from tests.faults.points import ACCEPT_POINTS, STAGE_POINTS
from tests.faults.works import Works

# Backpressure holds the load to what the workers can do: 503 with Retry-After past this many.
BACKLOG = {"max_backlog": 400, "client_backlog": 0, "shop_backlog": 0}
# What the issue asks for.
CHAOS_ORDERS = 10_000
FAULTS = {"worker": 140, "api": 40, "sweeper": 20, "courier": 20, "redis": 20, "flush": 5, "freeze": 10}
# No courier: what one holds when it dies is sent again after a minute, which is most of the short form.
SHORT_FAULTS = {"worker": 4, "api": 2, "sweeper": 1, "redis": 1, "flush": 1, "freeze": 1}
# At each boundary, where the issue asks for 50.
BOUNDARY_KILLS = 60
# Not every kill that is planned happens: a process that dies for one order never comes to the boundary that
# another was to die at. Those are planned again, for new orders.
ROUNDS = 5


def boundaries(bench: Bench) -> dict[str, Any]:
    """kill -9 at each boundary of each stage and of the accept path, once for each order."""
    points = [*STAGE_POINTS, *ACCEPT_POINTS]
    each = bench.size(BOUNDARY_KILLS, 1)
    deaths = points * each
    random.Random(bench.seed).shuffle(deaths)
    plan = dict(enumerate(deaths, start=1))
    with bench.works(workers=4, strikes=True, lease_s=4.0, settings=BACKLOG) as works:
        ledger = Ledger(works.url, works.headers, kill=plan.__getitem__)
        missed = deaths
        for _ in range(ROUNDS):
            ledger.start(range(len(plan) - len(missed) + 1, len(plan) + 1))
            ledger.join()
            last = time.monotonic()
            settle(works)
            struck = _struck(works, plan)
            missed = list((Counter(deaths) - struck).elements())
            if not missed:
                break
            plan |= enumerate(missed, start=len(plan) + 1)
        found = bench.verdict(works, ledger, last)
        return {
            "points": len(points),
            "kills": struck.total(),
            "fewest kills at a point": min(struck[point] for point in points),
            **found,
        }


def _struck(works: Works, plan: dict[int, str]) -> Counter[str]:
    """How many processes have died at each point, by the notes that they left."""
    noted = (file.name for file in works.folder.joinpath("struck").iterdir())
    return Counter(plan[int(name)] for name in noted if name.isdigit())


def chaos(bench: Bench) -> dict[str, Any]:
    """Random kills of API, workers, sweepers, courier and Redis, flushes, and workers put to sleep."""
    orders = bench.size(CHAOS_ORDERS, 120)
    counts = {kind: bench.size(number, SHORT_FAULTS.get(kind, 0)) for kind, number in FAULTS.items()}
    with bench.works(settings=BACKLOG) as works:
        ledger = Ledger(works.url, works.headers)
        faults = schedule(bench.seed, orders, counts)
        monkey = Monkey(works, faults, lambda: settled(works.orders.counts), bench.seed)
        ledger.start(range(1, orders + 1))
        monkey.start()
        monkey.join()
        last_fault = time.monotonic()
        ledger.join()
        found = bench.verdict(works, ledger, last_fault)
        return {"faults": dict(monkey.done), **found}
