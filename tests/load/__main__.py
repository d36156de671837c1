"""How many orders a second everything but the engines bears: `make load`.

    python -m tests.load [--rates 2 5 10 20] [--seconds 60] [--minutes 10] [--out docs/benchmarks/load.json]

The real API, queue, workers and PostgreSQL as processes of one machine, a chain's shops with a key each,
orders that come at random and never wait for each other (Locust, in an environment of its own), engines that
only take their time (`engines.py`). Rates are tried upwards until orders are refused, lost or settled too
late; then the highest that was borne is kept up for `--minutes`. The side that sends works on the same
machine, and its processor time is told apart.

Objectives: accepted within 100 ms (p99), settled within 5 s of its upload (p95), none refused, none lost.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import select

from schemas.lifecycle import WAITING
from services.learning.evaluation.statistics import quantile
from services.storage.base.tables import OrderRow
from tests.load.stack import Running, running

OUT = Path("docs/benchmarks/load.json")
LOCUSTFILE = Path(__file__).with_name("locustfile.py")
ACCEPTED_P99_S, SETTLED_P95_S = 0.1, 5.0
SEED = 20_261_123


def measured(
    stack: Running, locust: Path, home: Path, rate: float, seconds: float, spoken: float
) -> dict[str, Any]:
    """Figures of one rate, kept up for so many seconds."""
    out = home / "seen.json"
    out.unlink(missing_ok=True)
    plan = {
        "rate": rate, "seconds": seconds, "spoken": spoken, "seed": SEED, "keys": stack.keys, "out": str(out),
    }  # fmt: skip
    (home / "plan.json").write_text(json.dumps(plan))
    before, waited, began = stack.used(), stack.waited(), time.perf_counter()
    own = os.times()
    done = subprocess.run(
        [locust, "-f", LOCUSTFILE, "--headless", "-u", "1", "-r", "1", "--host", stack.url, "--only-summary"],
        env={**os.environ, "LOAD_PLAN": str(home / "plan.json")},
        capture_output=True,
        text=True,
        timeout=seconds + 400,
    )
    if not out.exists():
        raise SystemExit(f"Locust ended with {done.returncode}: {done.stderr[-2000:]}")
    took = time.perf_counter() - began
    sender = sum(os.times()[2:4]) - sum(own[2:4])
    used = {name: total - before[name] for name, total in stack.used().items()}
    seen = json.loads(out.read_text())
    found = figures(seen, rate, took, used | {"locust": sender}, lost(stack))
    # Threads that have ended meanwhile take what they waited with them.
    for_a_core = {name: max(0.0, total - waited[name]) for name, total in stack.waited().items()}
    return found | {"ms_without_a_core_an_order": _an_order(for_a_core, len(seen))}


def figures(
    seen: list[dict[str, Any]], rate: float, took_s: float, used: dict[str, float], lost: int
) -> dict[str, Any]:
    """What one rate came to. An order that was not accepted, or not settled in time, counts as never done."""
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
        # By what they sent, since an upload and a recording on the disk are of the spoken ones alone.
        "accepted_spoken_s": _spread([one["accepted_s"] for one in accepted if one["spoken"]]),
        "accepted_text_s": _spread([one["accepted_s"] for one in accepted if not one["spoken"]]),
        "settled_s": _spread(settled),
        "cores_busy": round(spent / took_s, 2),
        "ms_of_processor_an_order": _an_order(used, len(seen)),
    }
    return found | {"missed": missed(found)}


def missed(found: dict[str, Any]) -> list[str]:
    """The objectives that a rate does not keep."""
    late = {
        "accepted": found["accepted_s"]["p99"] > ACCEPTED_P99_S,
        "settled": found["settled_s"]["p95"] > SETTLED_P95_S,
    }
    none = {name: found[name] > 0 for name in ("refused", "never_settled", "left_waiting")}
    return [name for name, is_missed in (late | none).items() if is_missed]


def lost(stack: Running) -> int:
    """Orders in the database that nobody works on any more, though all that were sent were waited for."""
    waiting = [state.value for state in WAITING]
    with stack.database.everywhere().read() as session:
        return len(session.scalars(select(OrderRow.id).where(OrderRow.state.in_(waiting))).all())


def _an_order(seconds: dict[str, float], orders: int) -> dict[str, float]:
    return {name: round(1000 * used / orders, 2) for name, used in sorted(seconds.items())}


def _spread(seconds: list[float]) -> dict[str, float]:
    if not seconds:
        return {}
    return {f"p{share}": round(quantile(seconds, share / 100), 3) for share in (50, 95, 99)}


def main() -> None:
    parser = argparse.ArgumentParser(prog="make load")
    parser.add_argument("--locust", type=Path, default=Path(".venv-load/bin/locust"))
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
    with (
        tempfile.TemporaryDirectory(prefix="saycart-load-") as folder,
        running(Path(folder), chosen.shops, chosen.hear_s, chosen.read_s) as stack,
    ):
        home, best = Path(folder), 0.0
        measured(stack, chosen.locust, home, 2, 10, chosen.spoken)  # caches, connections, plans
        for rate in chosen.rates:
            one = measured(stack, chosen.locust, home, rate, chosen.seconds, chosen.spoken)
            found["rates"].append(one)
            print(json.dumps(one), flush=True)
            if set(one["missed"]) - {"accepted"}:
                break
            best = rate
        if best and chosen.minutes:
            found["kept_up"] = measured(stack, chosen.locust, home, best, 60 * chosen.minutes, chosen.spoken)
            print(json.dumps(found["kept_up"]), flush=True)
    found["highest_that_was_borne"] = best
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    chosen.out.write_text(json.dumps(found, indent=1) + "\n")
    sys.exit(0 if best else 1)


if __name__ == "__main__":
    main()
