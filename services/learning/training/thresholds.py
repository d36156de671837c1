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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schemas.decision import ACCEPT, ASK
from services.learning.training.orders import Part
from services.learning.training.score import answered

WRONG, NOD = 0.01, 0.25
ACCEPT_FROM = tuple(math.exp(-at) for at in (0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2))
ASK_FROM = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


@dataclass(frozen=True, slots=True)
class Case:
    """One order: the probability of the reader's cart, 0 where the mask overruled it, and whether it is the
    one that is meant."""

    probability: float
    right: bool


def cases(part: Part, answers: Path) -> list[Case]:
    """All orders of a part that have an answer."""
    return [Case(order.probability, order.right) for order in answered(part, answers)]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What two thresholds make of some orders, as counts; `unseen` are wrong carts that stand."""

    accept: float
    ask: float
    accepted: int
    accepted_wrong: int
    asked: int
    asked_wrong: int
    to_a_person: int

    @property
    def unseen(self) -> float:
        return self.accepted_wrong + NOD * self.asked_wrong

    def document(self) -> dict[str, Any]:
        return {
            "accept from": round(self.accept, 4),
            "ask from": self.ask,
            "accepted": self.accepted,
            "of them wrong": self.accepted_wrong,
            "asked": self.asked,
            "shown a wrong cart": self.asked_wrong,
            "to a person": self.to_a_person,
            "wrong, unseen": self.unseen,
        }


def outcome(known: Sequence[Case], accept: float, ask: float) -> Outcome:
    """Count what becomes of orders at two thresholds."""
    accepted = [case for case in known if case.probability >= accept]
    asked = [case for case in known if ask <= case.probability < accept]
    return Outcome(
        accept=accept,
        ask=ask,
        accepted=len(accepted),
        accepted_wrong=sum(not case.right for case in accepted),
        asked=len(asked),
        asked_wrong=sum(not case.right for case in asked),
        to_a_person=len(known) - len(accepted) - len(asked),
    )


def allowed(known: Sequence[Case]) -> list[Outcome]:
    """For each probability of acceptance the outcome with the lowest probability of asking that keeps within
    `WRONG`; those that no probability of asking keeps there are left out."""
    found = []
    for accept in ACCEPT_FROM:
        fitting = (outcome(known, accept, ask) for ask in (*ASK_FROM, accept))
        first = next((one for one in fitting if one.unseen <= WRONG * len(known)), None)
        found += [first] if first else []
    return found


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="thresholds")
    parser.add_argument("part")
    parser.add_argument("answers", type=Path)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args(argv)
    known = cases(args.part, args.answers)
    rows = [one.document() for one in allowed(known)]
    shipped = outcome(known, ACCEPT, ASK).document()
    print(f"{len(known)} orders; as shipped, then what {WRONG:.0%} of wrong orders allows")
    print(" | ".join(shipped))
    for row in (shipped, *rows):
        print(" | ".join(f"{row[name]:>{len(name)}}" for name in row))
    if args.out:
        about = {"part": args.part, "answers": args.answers.name, "orders": len(known)}
        args.out.write_text(json.dumps(about | {"shipped": shipped, "allowed": rows}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
