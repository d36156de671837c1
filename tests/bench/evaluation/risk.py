"""Risk against coverage of both readers, the learned one and the rules; and what its probability is worth.

    python -m tests.bench.evaluation.risk PART ANSWERS.jsonl --tuned TUNED.jsonl [--out docs/benchmarks]

From the answers of `services/training/answer.py`, so no model is asked. Coverage is the share of all orders
that is accepted at once, with nobody asked; risk is the share of these that is wrong. Both readers: the
shipped decision at other thresholds, with no question to a customer. Calibration: shares that are right in
bins of the reader's probability, and the expected calibration error (ECE) of these, raw and where each
bin's share of the tuned menus stands for its probabilities. Prints figures, never a row.
"""

from __future__ import annotations

import argparse
import json
import math
from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from schemas.compare import canonical_draft
from services.checks.one_cart import undoubted_cart
from services.checks.two_readers import LIKELY, SURE
from services.evaluation.answering import became
from services.evaluation.plots import Plot, percent_ticks
from services.training.score import cart_of
from services.training.thresholds import Case, Setting, cases, prediction
from tests.bench.pictures import write_svg

BELIEVED_FROM = (0.0, 0.2, 0.4, 0.6, 0.7, 0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.98, 0.99, 0.995, 0.998, 0.999)
EDGES = (0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 0.97, 0.99, 0.999)
NOBODY_ASKED = 1.1
Point = tuple[float, float]


def point(accepted: int, wrong: int, orders: int) -> dict[str, float]:
    """One point of a curve, with its counts."""
    risk = wrong / accepted if accepted else 0.0
    return {"coverage": accepted / orders, "risk": risk, "accepted": accepted, "wrong": wrong}


def both_at(known: Sequence[Case], at: Setting) -> dict[str, float]:
    """What the shipped decision accepts at other thresholds, with no customer asked."""
    accepted = wrong = 0
    for case in known:
        made = prediction(case, at)
        if made["decision"] == "accept":
            accepted += 1
            wrong += "wrong, unseen" in became(made, case.meant)
    return point(accepted, wrong, len(known))


def right(case: Case) -> bool:
    """Whether the learned reader's cart is the one that is meant."""
    return not case.reading.overruled and cart_of(case.reading.lines) == case.meant


def learned_curve(known: Sequence[Case]) -> list[dict[str, float]]:
    """The learned reader alone, believed from each of its own probabilities; at every 20th order."""
    ranked = sorted((c for c in known if not c.reading.overruled), key=lambda c: -c.reading.logprob)
    found, wrong = [], 0
    for count, case in enumerate(ranked, 1):
        wrong += not right(case)
        if count % 20 == 0 or count == len(ranked):
            found.append(point(count, wrong, len(known)) | {"from": math.exp(case.reading.logprob)})
    return found


def rules_alone(known: Sequence[Case]) -> dict[str, float]:
    """What the rules leave without a doubt of theirs."""
    carts = [(undoubted_cart(case.evidence), case.meant) for case in known]
    accepted = [(cart, meant) for cart, meant in carts if cart is not None]
    return point(len(accepted), sum(canonical_draft(c) != meant for c, meant in accepted), len(known))


def bins(known: Sequence[Case]) -> list[dict[str, float]]:
    """By the bin of its probability: how many answers, their mean probability, the share that is right."""
    inside: list[list[Case]] = [[] for _ in EDGES]
    for case in known:
        inside[bisect_right(EDGES, math.exp(case.reading.logprob)) - 1].append(case)
    return [
        {
            "from": edge,
            "orders": len(group),
            "said": sum(math.exp(case.reading.logprob) for case in group) / max(len(group), 1),
            "right": sum(map(right, group)) / max(len(group), 1),
        }
        for edge, group in zip(EDGES, inside, strict=True)
    ]


def calibration_error(seen: Sequence[dict[str, float]], said: Sequence[float]) -> float:
    """Mean distance between the share that is right in a bin and what was `said` of it, by orders."""
    total = sum(row["orders"] for row in seen)
    return sum(row["orders"] * abs(row["right"] - p) for row, p in zip(seen, said, strict=True)) / total


def drawing(
    both: Sequence[dict[str, float]], learned: Sequence[dict[str, float]], marks: dict[str, Any]
) -> str:
    highest = max(row["risk"] for row in (*both, *learned, *marks.values()))
    plot = Plot(
        "Share of accepted orders that is wrong, against the share of orders accepted with nobody asked",
        ("accepted with nobody asked", [(i / 5, f"{i / 5:.0%}") for i in range(6)]),
        ("of these wrong", percent_ticks(highest)),
    )
    for rows, style in ((both, "first"), (learned, "second")):
        points: list[Point] = [(row["coverage"], row["risk"]) for row in rows]
        plot.line(sorted(points), style)
    for name, row in marks.items():
        style = "second" if name == "rules alone" else "first"
        plot.diamond(
            (row["coverage"], row["risk"]), style, f"{name}: {row['coverage']:.1%}, {row['risk']:.1%} wrong"
        )
        plot.note((row["coverage"], row["risk"] + highest / 25), name)
    return plot.svg()


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="risk")
    parser.add_argument("part")
    parser.add_argument("answers", type=Path)
    parser.add_argument("--tuned", type=Path, required=True, help="answers of the part `tune`")
    parser.add_argument("--out", type=Path, default=Path("docs/benchmarks"))
    args = parser.parse_args(argv)
    known = list(cases(args.part, args.answers))
    both = [
        {"from": at} | both_at(known, Setting(sure=at, likely=min(at, LIKELY), ask=NOBODY_ASKED))
        for at in BELIEVED_FROM
    ]
    marks = {
        "as shipped": both_at(known, Setting(ask=NOBODY_ASKED)),
        "rules alone": rules_alone(known),
    }
    learned, seen, tuned = learned_curve(known), bins(known), bins(list(cases("tune", args.tuned)))
    told = {
        "part": args.part,
        "orders": len(known),
        "believed_from": {"alone": SURE, "the same": LIKELY},
        "both": both,
        "learned": learned,
        **marks,
        "bins": seen,
        "tuned_bins": tuned,
        "calibration_error": calibration_error(seen, [row["said"] for row in seen]),
        "calibration_error_by_tuned_bins": calibration_error(seen, [row["right"] for row in tuned]),
    }
    (args.out / "risk.json").write_text(json.dumps(told, indent=1) + "\n")
    write_svg(args.out / "risk.svg", drawing(both, learned, marks), ("both readers", "the learned one alone"))
    for name in ("both", "learned", "bins", "tuned_bins"):
        print(name, *(json.dumps({k: round(v, 4) for k, v in row.items()}) for row in told[name]), sep="\n  ")
    print({name: told[name] for name in (*marks, "calibration_error", "calibration_error_by_tuned_bins")})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
