"""Tables of the claim's bench, from rows on disk: nothing is run.

    python -m tests.bench.claim.report [--results FOLDER] [--out docs/benchmarks] [--pack | --unpack]

Writes `claim.json` to OUT and prints the tables as Markdown. `--pack` puts the raw rows into OUT/rows, one
compressed file an engine; `--unpack` takes them from there into the results first, where none are, so that
figures can be made again, and a run can go on, with nothing but the repository.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.bench.claim.cells import Setting, cells_of, pack, unpack
from tests.bench.claim.figures import compared, figures, parts_of_the_gain
from tests.bench.claim.nines import day, upper_bound
from tests.bench.claim.outcomes import outcomes
from tests.bench.claim.pipelines import METHODS
from tests.bench.claim.verdicts import FAILED, LEFT, percent, span, verdicts
from tests.bench.techniques.report import Table, markdown

SAYS = {
    "old": "old: prompt, parse, repair",
    "masked": "masked, item free",
    "masked-item": "masked, item listed",
    "ours-whole": "ours, all asked and whole",
    "ours": "ours",
    "ours-reader": "ours, with the learned reader",
}
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
        upper_bound(clean): f"as much as {clean} clean decodes allow",
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


def cost_table(cells: Found) -> Table:
    """Times and tokens of each pipeline in one setting."""
    table = [["pipeline", "orders", "p50 s (95%)", "p95 s (95%)", "p50 / p95 after hearing", "asked", "calls",
              "tokens out", "of the prompt, cached", "repair: orders, tokens, s"]]  # fmt: skip
    for name, f in cells.items():
        p50, p95, rest = f["total"]["p50"], f["total"]["p95"], f["after_hearing"]
        repair = (
            f"{f['repaired']['hits']}, {f['repair_tokens']}, {f['repair_s']:.1f}" if name == "old" else "–"
        )
        cached = f"{f['cached_tokens'] / f['prompt_tokens']:.0%}" if f["prompt_tokens"] else "–"
        table.append(
            [SAYS[name], str(f["orders"]), _timed(p50), _timed(p95),
             f"{rest['p50']['s']:.2f} / {rest['p95']['s']:.2f}", f"{f['asked']['hits']}", f"{f['calls']:.2f}",
             f"{f['tokens']:.0f}", cached, repair]
        )  # fmt: skip
    return table


def truth_table(cells: Found) -> Table:
    """Failures by kind, and what the carts are worth."""
    table = [["pipeline", "first answers that fail (95%)", "of them", "after repairs",
              "as strictly as ours (95%)", "exact carts (95%)", "pass unseen", "of them wrong",
              "items wrong", "of them no name of the menu"]]  # fmt: skip
    for name, f in cells.items():
        kinds = ", ".join(f"{n} {kind}" for kind, n in f["first_kinds"].items())
        table.append(
            [SAYS[name], _shared(f["first_answer_failures"]), kinds or "–", str(f["failures"]["hits"]),
             _shared(f["strict_failures"]), _shared(f["exact"]), str(f["passed"]["hits"]),
             str(f["silent"]["hits"]), f"{f['wrong_items']} of {f['items']}", f"{f['unknown_items']}"]
        )  # fmt: skip
    return table


def gain_table(gain: Found) -> Table:
    """What of the way from the old pipeline to ours saves how much."""
    says = {
        "repairs": "no repairs",
        "mask": "the mask itself (first answers, bare and masked)",
        "hearing": "hearing (ours hears doubtful recordings again)",
        "form": "our prompt, cart, evidence and checks, all asked",
        "settled": "settled orders are not asked",
        "jumped": "of open orders only the choices are decoded",
    }
    table = [["step", "mean s saved an order", "share of the gain"]]
    for name, seconds in gain["steps"].items():
        part = f"{gain['shares'][name]:.0%}" if gain["shares"] else "–"
        table.append([says[name], f"{seconds:+.2f}", part])
    return [*table, ["all", f"{gain['saved_s']:+.2f}", f"of {gain['mean_s']['old']:.2f} s"]]


def nines_table(rows: list[Found]) -> Table:
    """The arithmetic of nines."""
    table = [["share of failures", "calls a day", "failures a day", "one in", "repairs a day: tokens, hours"]]
    for row in rows:
        share = f"{percent(row['share'], 2)} ({row['says']})"
        repairs = f"{row['repair_tokens']:,}, {row['repair_hours']:,.1f}"
        one = _lasting(row["hours_between"])
        table.append([share, f"{row['calls']:,}", f"{row['failures']:,.1f}", one, repairs])
    return table


def _lasting(hours: float) -> str:
    """A time in a unit that suits it."""
    for unit, of_one in (("days", 24.0), ("h", 1.0), ("min", 1 / 60)):
        if hours >= 2 * of_one:
            return f"{hours / of_one:.0f} {unit}"
    return f"{hours * 3600:.1f} s"


def tables(found: Found) -> Iterator[tuple[str, Table]]:
    """Every table with its heading."""
    for name, told in found["engines"].items():
        for at in told["settings"]:
            head, cells = f"{name}: {at['setting']}", at["cells"]
            ours = "ours" if "ours" in cells else "ours-reader"
            told_by = verdicts(cells, at["old_against"], ours)
            yield f"{head}: the claim", [["the claim", "seen", "verdict"], *map(list, told_by)]
            yield f"{head}: failures and carts", truth_table(cells)
            yield f"{head}: time and tokens", cost_table(cells)
            if at["gain"]:
                yield f"{head}: what the gain is made of", gain_table(at["gain"])
    yield "the arithmetic of nines", nines_table(found["nines"])


def _timed(one: Found) -> str:
    return f"{one['s']:.2f} ({one['ci'][0]:.2f}–{one['ci'][1]:.2f})"


def _shared(one: Found) -> str:
    return f"{one['hits']} of {one['of']} ({span(one['ci'])})"


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
