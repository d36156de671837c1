"""Risk against coverage of the trained reader, and what its probability is worth.

    python -m tests.bench.evaluation.risk PART ANSWERS.jsonl --tuned TUNED.jsonl [--out docs/benchmarks]

From the answers of `training/answer.py`, so no model is asked. Coverage is the share of all orders
whose cart is accepted at once, by its probability alone; risk is the share of these that is wrong.
Calibration: shares that are right in bins of the probability, and the expected calibration error (ECE) of
these, raw and where each bin's share of the tuned menus stands for its probabilities. Prints figures, never a
row.
"""

from __future__ import annotations

import argparse
import json
from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from schemas.decision import ACCEPT
from services.learning.evaluation.plots import Plot, percent_ticks
from services.learning.training.thresholds import Case, cases
from tests.bench.pictures import write_svg

MARKED = {"as shipped": ACCEPT, "from 0.97": 0.97, "from 0.9": 0.9, "from 0.6": 0.6}
EDGES = (0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 0.97, 0.99, 0.999)
Point = tuple[float, float]


def point(accepted: int, wrong: int, orders: int) -> dict[str, float]:
    """One point of a curve, with its counts."""
    risk = wrong / accepted if accepted else 0.0
    return {"coverage": accepted / orders, "risk": risk, "accepted": accepted, "wrong": wrong}


def accepted_from(known: Sequence[Case], least: float) -> dict[str, float]:
    """What is accepted from a probability."""
    accepted = [case for case in known if case.probability >= least]
    return {"from": least} | point(len(accepted), sum(not case.right for case in accepted), len(known))


def curve(known: Sequence[Case]) -> list[dict[str, float]]:
    """What is accepted from each of the reader's own probabilities; at every 20th order."""
    ranked = sorted((case for case in known if case.probability), key=lambda case: -case.probability)
    found, wrong = [], 0
    for count, case in enumerate(ranked, 1):
        wrong += not case.right
        if count % 20 == 0 or count == len(ranked):
            found.append(point(count, wrong, len(known)) | {"from": case.probability})
    return found


def bins(known: Sequence[Case]) -> list[dict[str, float]]:
    """By the bin of its probability: how many answers, their mean probability, the share that is right."""
    inside: list[list[Case]] = [[] for _ in EDGES]
    for case in known:
        inside[bisect_right(EDGES, case.probability) - 1].append(case)
    return [
        {
            "from": edge,
            "orders": len(group),
            "said": sum(case.probability for case in group) / max(len(group), 1),
            "right": sum(case.right for case in group) / max(len(group), 1),
        }
        for edge, group in zip(EDGES, inside, strict=True)
    ]


def calibration_error(seen: Sequence[dict[str, float]], said: Sequence[float]) -> float:
    """Mean distance between the share that is right in a bin and what was `said` of it, by orders."""
    total = sum(row["orders"] for row in seen)
    return sum(row["orders"] * abs(row["right"] - p) for row, p in zip(seen, said, strict=True)) / total


def drawing(rows: Sequence[dict[str, float]], marks: dict[str, dict[str, float]]) -> str:
    highest = max(row["risk"] for row in rows)
    plot = Plot(
        "Share of accepted orders that is wrong, against the share of orders accepted with nobody asked",
        ("accepted with nobody asked", [(i / 5, f"{i / 5:.0%}") for i in range(6)]),
        ("of these wrong", percent_ticks(highest)),
    )
    plot.line(sorted((row["coverage"], row["risk"]) for row in rows), "first")
    for name, row in marks.items():
        place: Point = (row["coverage"], row["risk"])
        plot.diamond(place, "first", f"{name}: {row['coverage']:.1%}, {row['risk']:.1%} wrong")
        plot.note((row["coverage"], row["risk"] + highest / 25), name)
    return plot.svg()


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="risk")
    parser.add_argument("part")
    parser.add_argument("answers", type=Path)
    parser.add_argument("--tuned", type=Path, required=True, help="answers of the part `tune`")
    parser.add_argument("--out", type=Path, default=Path("docs/benchmarks"))
    args = parser.parse_args(argv)
    known, tuned = cases(args.part, args.answers), bins(cases("tune", args.tuned))
    rows, seen = curve(known), bins(known)
    marks = {name: accepted_from(known, least) for name, least in MARKED.items()}
    told: dict[str, Any] = {
        "part": args.part,
        "orders": len(known),
        "marks": marks,
        "curve": rows,
        "bins": seen,
        "tuned_bins": tuned,
        "calibration_error": calibration_error(seen, [row["said"] for row in seen]),
        "calibration_error_by_tuned_bins": calibration_error(seen, [row["right"] for row in tuned]),
    }
    (args.out / "risk.json").write_text(json.dumps(told, indent=1) + "\n")
    write_svg(args.out / "risk.svg", drawing(rows, marks), ("the trained reader",))
    for name in ("bins", "tuned_bins"):
        print(name, *(json.dumps({k: round(v, 4) for k, v in row.items()}) for row in told[name]), sep="\n  ")
    print({name: told[name] for name in ("marks", "calibration_error", "calibration_error_by_tuned_bins")})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
