"""Figures of the claim's bench, from rows on disk: nothing is run.

    python -m tests.bench.claim.report [--results FOLDER] [--out docs/benchmarks] [--pack | --unpack]

Writes `claim.json` to OUT and prints the tables as Markdown. `--pack` puts the raw rows into OUT/rows, one
compressed file an engine; `--unpack` takes them from there into the results first, where none are, so that
figures can be made again, and a run can go on, with nothing but the repository.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from tests.bench.claim.cells import Setting, cells_of, pack, unpack
from tests.bench.claim.figures import compared, figures, parts_of_the_gain
from tests.bench.claim.nines import day, upper_bound
from tests.bench.claim.outcomes import outcomes
from tests.bench.claim.pipelines import METHODS
from tests.bench.claim.tables import tables
from tests.bench.claim.verdicts import FAILED, LEFT
from tests.bench.techniques.report import markdown

CALLS = (1_000, 10_000, 100_000, 1_000_000)
Found = dict[str, Any]


def gather(results: Path) -> Found:
    """Figures of every engine's folder in `results`, by setting."""
    engines = {}
    for folder in sorted(path.parent for path in results.glob("*/about.json")):
        settings = {}
        for at, rows in cells_of(folder).items():
            cells = {name: outcomes(rows[name]) for name in METHODS if rows.get(name)}
            against = {
                name: compared(cells["old"], cells[name])
                for name in cells
                if "old" in cells and name != "old"
            }
            settings[at] = {
                "setting": at.says,
                "cells": {name: figures(found) for name, found in cells.items()},
                "old_against": {name: found for name, found in against.items() if found},
                "gain": parts_of_the_gain(cells),
            }
        about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
        engines[folder.name] = {
            "about": about,
            "settings": [settings[at] for at in sorted(settings, key=_order)],
        }
    return {"engines": engines, "nines": nines(engines)}


def _order(at: Setting) -> tuple[str, int, float, int]:
    return "" if at.condition == "clean" else at.condition, at.in_flight, at.temperature, at.examples


def nines(engines: Found) -> list[Found]:
    """Failures a day, and the tokens and machine hours of their repairs as the old pipeline's were: at the
    claim's shares, and at what the longest run of clean decodes allows, of one method on one engine."""
    old = [s["cells"]["old"] for told in engines.values() for s in told["settings"] if "old" in s["cells"]]
    repaired = sum(cell["repaired"]["hits"] for cell in old) or 1
    tokens = sum(cell["repair_tokens"] + cell["repair_prompt_tokens"] for cell in old) / repaired
    seconds = sum(cell["repair_s"] for cell in old) / repaired
    clean = max((_clean(told, name) for told in engines.values() for name in METHODS), default=0)
    shares = {
        FAILED: "claimed before",
        LEFT: "claimed after",
        upper_bound(clean): f"as much as {clean} clean decodes of this bench allow",
    }
    return [
        {
            "share": share,
            "says": says,
            "calls": calls,
            "failures": round(found.failures, 1),
            "hours_between": found.hours_between,
            "repair_tokens": round(found.failures * tokens),
            "repair_hours": round(found.failures * seconds / 3600, 2),
        }
        for share, says in shares.items()
        for calls in CALLS
        for found in [day(calls, share)]
    ]


def _clean(told: Found, method: str) -> int:
    """How many decodes of a method gave a cart, all of them; 0 where one did not."""
    cells = [s["cells"][method] for s in told["settings"] if method in s["cells"]]
    return (
        0
        if any(cell["first_answer_failures"]["hits"] for cell in cells)
        else sum(cell["asked"]["hits"] for cell in cells)
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--results", type=Path, default=Path("reports/claim"))
    parser.add_argument("--out", type=Path, default=Path("docs/benchmarks/claim"))
    parser.add_argument("--pack", action="store_true", help="keep the raw rows, too")
    parser.add_argument("--unpack", action="store_true", help="begin with the rows that were kept")
    args = parser.parse_args()
    if args.unpack:
        unpack(args.out / "rows", args.results)
    found = gather(args.results)
    if not found["engines"]:
        print(f"No rows in {args.results}; run `make bench-claim` first.", file=sys.stderr)
        return 2
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "claim.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if args.pack:
        pack(args.results, args.out / "rows")
    for title, table in tables(found):
        print(f"### {title}\n\n{markdown(table)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
