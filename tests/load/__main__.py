"""Measure how many orders per second the stack handles without its engines: `make load`.

    python -m tests.load [--rates 2 5 10 20] [--seconds 60] [--minutes 10] [--out docs/benchmarks/load.json]

The real API, queue, workers and PostgreSQL on one machine, shops with a key each, random arrivals
(`customers.py`), and simulated engines (`engines.py`). The rate is raised until orders are refused, lost or
settled too late; then the highest rate without that runs for `--minutes`. The clients share the machine;
their processor time is shown separately.

Objectives: accepted within 100 ms (p99), settled within 5 s of its upload (p95), none refused, none lost.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import sys
import tempfile
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import select

from schemas.lifecycle import WAITING
from services.learning.evaluation.figures import quantile
from services.storage.base.tables import OrderRow
from tests.load.customers import Plan, come
from tests.load.stack import Running, running
from tests.servers.postgresql import PostgreSQL

OUT = Path("docs/benchmarks/load.json")
ACCEPTED_P99_S, SETTLED_P95_S = 0.1, 5.0
SEED = 20_261_123


def measured(stack: Running, rate: float, seconds: float, spoken: float) -> dict[str, Any]:
    """Return the figures of one rate over `seconds`."""
    before, own, began = stack.used(), time.process_time(), time.perf_counter()
    seen = asyncio.run(come(stack.url, Plan(rate, seconds, spoken, stack.keys, SEED)))
    took = time.perf_counter() - began
    used = {name: total - before[name] for name, total in stack.used().items()}
    return figures(seen, rate, took, used | {"customers": time.process_time() - own}, lost(stack))


def figures(
    seen: list[dict[str, Any]], rate: float, took_s: float, used: dict[str, float], lost: int
) -> dict[str, Any]:
    """Return the figures of one rate. Orders that were never settled count as infinitely late."""
    accepted = [one for one in seen if one.get("status") == 202]
    settled = [one.get("settled_s", float("inf")) for one in seen]
    spent = sum(used.values())
    found: dict[str, Any] = {
        "rate": rate,
        "orders": len(seen),
        "refused": len(seen) - len(accepted),
        "statuses": dict(Counter(str(one.get("status")) for one in seen)),
        "refused_because": [one["why"] for one in seen if "why" in one][:20],
        "never_settled": sum(one.get("settled_s") is None for one in accepted),
        "left_waiting": lost,
        "ends": dict(Counter(one.get("end") for one in accepted)),
        "accepted_s": _spread([one["accepted_s"] for one in seen if "accepted_s" in one]),
        "settled_s": _spread(settled),
        "cores_busy": round(spent / took_s, 2),
        "ms_of_processor_an_order": {
            name: round(1000 * seconds / len(seen), 2) for name, seconds in sorted(used.items())
        },
    }
    return found | {"missed": missed(found)}


def missed(found: dict[str, Any]) -> list[str]:
    """Return the objectives that a rate misses."""
    late = {
        "accepted": found["accepted_s"]["p99"] > ACCEPTED_P99_S,
        "settled": found["settled_s"]["p95"] > SETTLED_P95_S,
    }
    none = {name: found[name] > 0 for name in ("refused", "never_settled", "left_waiting")}
    return [name for name, is_missed in (late | none).items() if is_missed]


def lost(stack: Running) -> int:
    """Return the number of orders still waiting in the database after all clients have finished."""
    waiting = [state.value for state in WAITING]
    with stack.database.everywhere().read() as session:
        return len(session.scalars(select(OrderRow.id).where(OrderRow.state.in_(waiting))).all())


def _spread(seconds: list[float]) -> dict[str, float]:
    if not seconds:
        return {}
    return {f"p{share}": round(quantile(seconds, share / 100), 3) for share in (50, 95, 99)}


def main() -> None:
    parser = argparse.ArgumentParser(prog="make load")
    parser.add_argument("--rates", nargs="+", type=float, default=[2, 5, 10, 15, 20, 30])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument(
        "--minutes", type=float, default=10, help="at the highest rate that was borne; 0: not at all"
    )
    parser.add_argument("--spoken", type=float, default=0.5, help="share of the orders that come as audio")
    parser.add_argument("--shops", type=int, default=100)
    parser.add_argument("--hear-s", type=float, default=0.5, help="median of a hearing")
    parser.add_argument("--read-s", type=float, default=0.8, help="median of a model's answer")
    parser.add_argument("--out", type=Path, default=OUT)
    chosen = parser.parse_args()
    found: dict[str, Any] = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}",
        "engines": {"hear_s": chosen.hear_s, "read_s": chosen.read_s},
        "spoken": chosen.spoken,
        "shops": chosen.shops,
        "objectives": {"accepted_p99_s": ACCEPTED_P99_S, "settled_p95_s": SETTLED_P95_S},
        "rates": [],
    }
    times = {"LOAD_HEAR_S": str(chosen.hear_s), "LOAD_READ_S": str(chosen.read_s)}
    with (
        tempfile.TemporaryDirectory(prefix="saycart-load-") as folder,
        PostgreSQL() as server,
        running(Path(folder), server.create("load"), shops=chosen.shops, env=times) as stack,
    ):
        stack.pids["postgresql"] = server.pid
        best = 0.0
        measured(stack, 2, 10, chosen.spoken)  # caches, connections, plans
        for rate in chosen.rates:
            one = measured(stack, rate, chosen.seconds, chosen.spoken)
            found["rates"].append(one)
            print(json.dumps(one), flush=True)
            if set(one["missed"]) - {"accepted"}:
                break
            best = rate
        if best and chosen.minutes:
            found["kept_up"] = measured(stack, best, 60 * chosen.minutes, chosen.spoken)
            print(json.dumps(found["kept_up"]), flush=True)
    found["highest_that_was_borne"] = best
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    chosen.out.write_text(json.dumps(found, indent=1) + "\n")
    sys.exit(0 if best else 1)


if __name__ == "__main__":
    main()
