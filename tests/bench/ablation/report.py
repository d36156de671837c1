"""The ablation's table: from rows on disk, nothing is run.

    python -m tests.bench.ablation.report --results FOLDER --out docs/benchmarks

Writes `ablation.json` to OUT and prints the tables as Markdown.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from services.evaluation.page import interval
from services.evaluation.statistics import mcnemar, wilson
from tests.bench.ablation.levers import BARE_FULL, BESIDE, LADDER, PROMPTED, VARIANTS, WITHOUT, Variant
from tests.bench.techniques.report import markdown

Row = dict[str, Any]
Figures = Mapping[str, Any]


def figures(rows: Sequence[Row]) -> dict[str, Any]:
    """Exact carts of the orders that the model was asked for, and what is accepted of all that were read."""
    asked = [row for row in rows if row["sampled"]]
    accepted = [row for row in rows if row["accepted"]]
    exact = sum(row["exact"] for row in asked)
    silent = sum(not row["exact"] for row in accepted)
    return {
        "orders": len(asked),
        "exact": exact,
        "exact_ci": wilson(exact, len(asked)),
        "gold_lines": sum(row["gold_lines"] for row in asked),
        "right_lines": sum(row["right_lines"] for row in asked),
        "read": len(rows),
        "accepted": len(accepted),
        "silent": silent,
        "silent_ci": wilson(silent, len(rows)),
        "accepted_after_asking": sum(row["calls"] > 0 for row in accepted),
        "calls": sum(row["calls"] for row in asked),
        "completion_tokens": sum(row["completion_tokens"] for row in asked),
    }


def against(base: Sequence[Row], rows: Sequence[Row]) -> dict[str, Any]:
    """Exact carts of the orders that both have, with the exact McNemar test; `lost` and `gained` are ids."""
    before = {row["id"]: row["exact"] for row in base if row["sampled"]}
    both = [(row["id"], before[row["id"]], row["exact"]) for row in rows if row["id"] in before]
    lost = [ref for ref, was, now in both if was and not now]
    gained = [ref for ref, was, now in both if now and not was]
    p = round(mcnemar(len(lost), len(gained)), 4)
    exact = sum(was for _, was, _ in both)
    return {"orders": len(both), "exact_before": exact, "lost": lost, "gained": gained, "p": p}


def gather(folder: Path) -> dict[str, Any]:
    """All figures of a folder of results; variants that were not run are not in it."""
    runs = {v.name: _read(folder / f"{v.name}.jsonl") for v in VARIANTS}
    runs = {name: rows for name, rows in runs.items() if rows}
    check = folder / "check.json"
    return {
        "variants": {
            v.name: {
                "says": v.says,
                **figures(runs[v.name]),
                "base": v.base,
                "against_base": against(runs[v.base], runs[v.name]) if v.base in runs else None,
            }
            for v in VARIANTS
            if v.name in runs
        },
        "decoded_though_settled": json.loads(check.read_text()) if check.exists() else None,
        "ids": {name: _ids(rows) for name, rows in runs.items()},
    }


def table(found: Mapping[str, Figures], variants: Sequence[Variant]) -> list[list[str]]:
    """One row a variant that was run."""
    head = ["variant", "exact carts (95%)", "lines right", "against", "lost, gained", "p", "accepted"]
    rows = [[*head, "of them wrong (95% of all)", "calls, tokens an order"]]
    for variant in variants:
        f = found.get(variant.name)
        if f is None:
            continue
        paired = f["against_base"]
        changes = ["–", "–", "–"]
        if paired:
            base = found[f["base"]]["says"].partition(":")[0]
            base = f"{base}: {paired['exact_before']} of {paired['orders']}"
            changes = [base, f"{len(paired['lost'])}, {len(paired['gained'])}", _p(paired["p"])]
        rows.append(
            [
                f["says"],
                f"{f['exact']} of {f['orders']} ({interval(f['exact_ci'])})",
                f"{f['right_lines']} of {f['gold_lines']}",
                *changes,
                f"{f['accepted']} of {f['read']}",
                f"{f['silent']} ({interval(f['silent_ci'])})",
                f"{f['calls'] / f['orders']:.2f}, {f['completion_tokens'] / f['orders']:.0f}",
            ]
        )
    return rows


def _ids(rows: Sequence[Row]) -> dict[str, list[str]]:
    """Which orders came out how; those that no model was asked for are only told of where accepted."""
    return {
        "exact": [row["id"] for row in rows if row["sampled"] and row["exact"]],
        "not_exact": [row["id"] for row in rows if row["sampled"] and not row["exact"]],
        "accepted": [row["id"] for row in rows if row["accepted"]],
        "accepted_wrong": [row["id"] for row in rows if row["accepted"] and not row["exact"]],
    }


def _read(file: Path) -> list[Row]:
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--results", type=Path, default=Path("reports/ablation"))
    parser.add_argument("--out", type=Path, default=Path("docs/benchmarks"))
    args = parser.parse_args()
    found = gather(args.results)
    (args.out / "ablation.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    for variants in (LADDER, BESIDE, WITHOUT, (*PROMPTED, BARE_FULL)):
        print(markdown(table(found["variants"], variants)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
