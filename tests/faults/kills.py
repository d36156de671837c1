"""Scenarios in which processes are killed or frozen: at a boundary, and at random."""

from __future__ import annotations

import random
import time
from collections import Counter
from typing import Any

from tests.faults.bench import Bench, settle
from tests.faults.chaos import Chaos, schedule
from tests.faults.judge import settled
from tests.faults.ledger import Ledger
from tests.faults.points import ACCEPT_POINTS, STAGE_POINTS
from tests.faults.running_stack import RunningStack

# Backpressure limits the load to the workers' capacity: 503 with Retry-After above this backlog.
BACKLOG = {"max_backlog": 400, "client_backlog": 0, "shop_backlog": 0}
CHAOS_ORDERS = 10_000
FAULTS = {"worker": 140, "api": 40, "sweeper": 20, "courier": 20, "redis": 20, "flush": 5, "freeze": 10}
# No courier: messages that it holds when it dies are sent again only after a minute.
SHORT_FAULTS = {"worker": 4, "api": 2, "sweeper": 1, "redis": 1, "flush": 1, "freeze": 1}
BOUNDARY_KILLS = 60  # per boundary
# A process killed for one order never reaches the boundary of another, so not every planned kill happens.
# Missed kills are planned again for new orders.
ROUNDS = 5


def boundaries(bench: Bench) -> dict[str, Any]:
    """kill -9 at each boundary of the stages and the accept path, once per order."""
    points = [*STAGE_POINTS, *ACCEPT_POINTS]
    each = bench.size(BOUNDARY_KILLS, 1)
    deaths = points * each
    random.Random(bench.seed).shuffle(deaths)
    plan = dict(enumerate(deaths, start=1))
    with bench.stack(workers=4, strikes=True, lease_s=4.0, settings=BACKLOG) as stack:
        ledger = Ledger(stack.url, stack.headers, kill=plan.__getitem__)
        missed = deaths
        for _ in range(ROUNDS):
            ledger.start(range(len(plan) - len(missed) + 1, len(plan) + 1))
            ledger.join()
            last = time.monotonic()
            settle(stack)
            struck = _struck(stack, plan)
            missed = list((Counter(deaths) - struck).elements())
            if not missed:
                break
            plan |= enumerate(missed, start=len(plan) + 1)
        figures = bench.verdict(stack, ledger, last)
        return {
            "points": len(points),
            "kills": struck.total(),
            "fewest kills at a point": min(struck[point] for point in points),
            **figures,
        }


def _struck(stack: RunningStack, plan: dict[int, str]) -> Counter[str]:
    """Count the kills at each point, by their records."""
    records = (file.name for file in stack.folder.joinpath("struck").iterdir())
    return Counter(plan[int(name)] for name in records if name.isdigit())


def chaos(bench: Bench) -> dict[str, Any]:
    """Random kills of API, workers, sweepers, courier and Redis, flushes, and frozen workers."""
    orders = bench.size(CHAOS_ORDERS, 120)
    counts = {kind: bench.size(number, SHORT_FAULTS.get(kind, 0)) for kind, number in FAULTS.items()}
    with bench.stack(settings=BACKLOG) as stack:
        ledger = Ledger(stack.url, stack.headers)
        faults = schedule(bench.seed, orders, counts)
        chaos_thread = Chaos(stack, faults, lambda: settled(stack.orders.counts), bench.seed)
        ledger.start(range(1, orders + 1))
        chaos_thread.start()
        chaos_thread.join()
        last_fault = time.monotonic()
        ledger.join()
        return {"faults": dict(chaos_thread.done), **bench.verdict(stack, ledger, last_fault)}
