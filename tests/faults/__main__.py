"""`python -m tests.faults [--only NAME] [--long] [--database sqlite] --out DIR`: run scenarios and report.

Each scenario writes `DIR/results/NAME-DATABASE.json` when it ends, and one that has its file is not run
again, so a long series may be cut into pieces. The report is made from those files.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.faults import claims, cuts, kills, report, restarts
from tests.faults.bench import POSTGRESQL, SQLITE, Bench

BOTH = (SQLITE, POSTGRESQL)
# Each with the databases that it is run on.
SCENARIOS: dict[str, tuple[Callable[[Bench], dict[str, Any]], tuple[str, ...]]] = {
    "boundaries": (kills.boundaries, BOTH),
    "chaos": (kills.chaos, BOTH),
    "sigstop": (kills.sigstop, BOTH),
    "tripled": (claims.tripled, BOTH),
    "claims": (claims.claims, BOTH),
    "keys": (claims.keys, BOTH),
    "database_killed": (cuts.database_killed, (POSTGRESQL,)),
    "database_cut": (cuts.database_cut, (POSTGRESQL,)),
    "redis_cut": (cuts.redis_cut, BOTH),
    "locked": (cuts.locked, (SQLITE,)),
    "disk_full": (cuts.disk_full, BOTH),
    "restarts": (restarts.rolling, (SQLITE,)),
    "engines": (restarts.engines, (SQLITE,)),
}


def main() -> int:
    asked = arguments()
    results = asked.out / "results"
    results.mkdir(parents=True, exist_ok=True)
    for name, (scenario, databases) in SCENARIOS.items():
        for database in databases:
            file = results / f"{name}-{database}.json"
            wanted = not asked.only or name in asked.only
            if not wanted or asked.database not in (None, database) or file.exists():
                continue
            print(f"{name} on {database} ...", flush=True)
            with Bench(database, long=asked.long, seed=asked.seed, scale=asked.scale) as bench:
                began = time.monotonic()
                figures = scenario(bench)
                took = round(time.monotonic() - began, 1)
            entry = {
                "scenario": name,
                "database": database,
                **_setting(asked, bench, took),
                "figures": figures,
            }
            file.write_text(json.dumps(entry, indent=1) + "\n")
            print(json.dumps(figures), flush=True)
    report.write(asked.out)
    bad = report.broken(asked.out)
    for line in bad:
        print(f"MISSED: {line}")
    return 1 if bad else 0


def _setting(asked: argparse.Namespace, bench: Bench, took: float) -> dict[str, Any]:
    """What a reader must know to judge or repeat the figures."""
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": f"python -m tests.faults {' '.join(sys.argv[1:])}",
        "form": "long" if asked.long else "short",
        "scale": asked.scale,
        "seed": asked.seed,
        "cores": len(os.sched_getaffinity(0)),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "versions": bench.versions,
        "seconds": took,
    }


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.faults", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--out", type=Path, required=True, help="folder of results and report")
    parser.add_argument("--only", action="append", choices=SCENARIOS, help="may be repeated")
    parser.add_argument("--database", choices=BOTH)
    parser.add_argument("--long", action="store_true", help="as many kills and orders as the targets ask for")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the long form's numbers")
    parser.add_argument("--seed", type=int, default=20261121)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
