"""Choose from which probability a cart is accepted, and from which its customer is asked whether it is right.

    python -m services.learning.training.thresholds PART ANSWERS.jsonl [--out TABLE.json]

From the answers of `answer.py` alone. At most `WRONG` of all orders may be wrong unseen, where `NOD` of the
customers who are shown a wrong cart say yes to it. Prints a row as shipped, and one for each probability of
acceptance, with the lowest probability of asking that it allows; figures, never an order.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from pathlib import Path

from schemas.decision import ACCEPT, ASK
from services.learning.training.score import Answered, answered

WRONG, NOD = 0.01, 0.25
ACCEPT_FROM = tuple(math.exp(-at) for at in (0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2))
ASK_FROM = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


Figures = dict[str, float]


def outcome(orders: Sequence[Answered], accept: float, ask: float) -> Figures:
    """Count what becomes of orders at two thresholds; "wrong, unseen" are wrong carts that stand."""
    accepted = [order for order in orders if order.probability >= accept]
    asked = [order for order in orders if ask <= order.probability < accept]
    wrong, wrong_asked = (sum(not order.right for order in some) for some in (accepted, asked))
    return {
        "accept from": round(accept, 4),
        "ask from": ask,
        "accepted": len(accepted),
        "of them wrong": wrong,
        "asked": len(asked),
        "shown a wrong cart": wrong_asked,
        "to a person": len(orders) - len(accepted) - len(asked),
        "wrong, unseen": wrong + NOD * wrong_asked,
    }


def allowed(orders: Sequence[Answered]) -> list[Figures]:
    """For each probability of acceptance the outcome with the lowest probability of asking that keeps within
    `WRONG`; those that no probability of asking keeps there are left out."""
    found = []
    for accept in ACCEPT_FROM:
        fitting = (outcome(orders, accept, ask) for ask in (*ASK_FROM, accept))
        found += [one for one in fitting if one["wrong, unseen"] <= WRONG * len(orders)][:1]
    return found


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="thresholds")
    parser.add_argument("part")
    parser.add_argument("answers", type=Path)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args(argv)
    orders = answered(args.part, args.answers)
    rows, shipped = allowed(orders), outcome(orders, ACCEPT, ASK)
    print(f"{len(orders)} orders; as shipped, then what {WRONG:.0%} of wrong orders allows")
    print(" | ".join(shipped))
    for row in (shipped, *rows):
        print(" | ".join(f"{row[name]:>{len(name)}}" for name in row))
    if args.out:
        about = {"part": args.part, "answers": args.answers.name, "orders": len(orders)}
        args.out.write_text(json.dumps(about | {"shipped": shipped, "allowed": rows}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
