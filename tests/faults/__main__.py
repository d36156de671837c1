"""`python -m tests.faults [--only NAME] [--long] [--database sqlite] --out DIR`: run scenarios and report.

Each scenario writes `DIR/results/NAME-DATABASE.json` when it ends; one that has its file is not run again.
The report is made from those files.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.faults import cuts, kills, report, restarts
from tests.faults.bench import POSTGRESQL, SQLITE, Bench

BOTH = (SQLITE, POSTGRESQL)
# Each with the databases that it is run on.
SCENARIOS: dict[str, tuple[Callable[[Bench], dict[str, Any]], tuple[str, ...]]] = {
    "chaos": (kills.chaos, BOTH),
    "boundaries": (kills.boundaries, BOTH),
    "sigstop": (kills.sigstop, BOTH),
    "database_killed": (cuts.database_killed, (POSTGRESQL,)),
    "database_cut": (cuts.database_cut, (POSTGRESQL,)),
    "redis_cut": (cuts.redis_cut, BOTH),
    "locked": (cuts.locked, (SQLITE,)),
    "disk_full": (cuts.disk_full, BOTH),
    "restarts": (restarts.rolling, BOTH),
    "engines": (restarts.engines, (SQLITE,)),
}


def main() -> int:
    asked = arguments()
    until = time.monotonic() + asked.within
    results = asked.out / "results"
    results.mkdir(parents=True, exist_ok=True)
    failed: list[str] = []
    for name, (scenario, databases) in SCENARIOS.items():
        for database in databases:
            if (asked.only and name not in asked.only) or asked.database not in (None, database):
                continue
            file = results / f"{name}-{database}.json"
            if file.exists() or time.monotonic() > until:
                continue
            try:
                entry = _run(asked, scenario, name, database)
            except Exception:
                # A scenario that can't be run here (no root, say) must not keep the others from it.
                traceback.print_exc()
                failed.append(f"{name} on {database} could not be run")
            else:
                file.write_text(json.dumps(entry, indent=1) + "\n")
    report.write(asked.out)
    bad = report.broken(asked.out) + failed
    for line in bad:
        print(f"MISSED: {line}")
    return 1 if bad else 0


def _run(
    asked: argparse.Namespace, scenario: Callable[[Bench], dict[str, Any]], name: str, database: str
) -> dict[str, Any]:
    print(f"{name} on {database} ...", flush=True)
    with Bench(database, long=asked.long, seed=asked.seed, pace_s=asked.pace) as bench:
        began = time.monotonic()
        figures = scenario(bench)
        took = round(time.monotonic() - began, 1)
    print(json.dumps(figures), flush=True)
    return {"scenario": name, "database": database, **_setting(asked, bench, took), "figures": figures}


def _setting(asked: argparse.Namespace, bench: Bench, took: float) -> dict[str, Any]:
    """What a reader must know to judge or repeat the figures."""
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": _command(asked),
        "form": "long" if asked.long else "short",
        "seed": asked.seed,
        "commit": _commit(),
        "cores": len(os.sched_getaffinity(0)),
        "load average": round(os.getloadavg()[1], 1),  # over 5 minutes; over `cores` when others worked here
        "kernel": platform.release(),
        "python": platform.python_version(),
        "versions": bench.versions,
        "seconds": took,
    }


def _command(asked: argparse.Namespace) -> str:
    """As it would be typed again, without the folder of this machine."""
    said = ["python -m tests.faults", *(["--long"] if asked.long else [])]
    said += [f"--only {name}" for name in asked.only or ()]
    said += [f"--database {asked.database}"] if asked.database else []
    said += [f"--pace {asked.pace:g}"] if asked.pace else []
    return " ".join([*said, f"--seed {asked.seed}", "--out DIR"])


def _commit() -> str:
    done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.faults", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--out", type=Path, required=True, help="folder of results and report")
    parser.add_argument("--only", action="append", choices=SCENARIOS, help="may be repeated")
    parser.add_argument("--database", choices=BOTH)
    parser.add_argument("--long", action="store_true", help="as many kills and orders as the targets ask for")
    parser.add_argument("--pace", type=float, default=0.0, help="seconds between two orders of a client")
    parser.add_argument("--within", type=float, default=1e9, help="seconds after which nothing more is begun")
    parser.add_argument("--seed", type=int, default=20261121)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
