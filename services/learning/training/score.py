"""Score answers against the expected carts, and find the probabilities from which carts may be accepted, or
shown to the customer for a yes.

    python -m services.learning.training.score PART ANSWERS.jsonl [--thresholds TABLE.json]

At most `MAX_UNDETECTED` of all orders may end up wrong and undetected, assuming that `FALSE_YES` of customers
say yes to a wrong cart. Prints figures, never a row: the sealed part is only scored.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schemas.compare import LineKey, canonical
from schemas.decision import ACCEPT, ASK
from services.decoding.menu_names import Unreadable
from services.decoding.wire import read_cart
from services.learning.training.orders import Part, Row, TrainingShop, shops

Cart = Counter[LineKey]
Figures = dict[str, float]
MAX_UNDETECTED, FALSE_YES = 0.01, 0.25
ACCEPT_FROM = tuple(math.exp(-at) for at in (0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2))
PRINTED = (ACCEPT, 0.99, 0.97, 0.9, 0.6)
ASK_FROM = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


@dataclass(frozen=True, slots=True)
class Answered:
    """One order: the expected cart, the predicted one (None if the answer isn't a cart), the answer's log
    probability, and at how many tokens the mask ruled out the model's choice."""

    expected: Cart
    predicted: Cart | None
    logprob: float
    overruled: int = 0

    @property
    def right(self) -> bool:
        return self.predicted == self.expected

    @property
    def probability(self) -> float:
        """The probability of the cart, as `decide` uses it: 0 without a cart, or if the mask overruled it."""
        return 0.0 if self.predicted is None or self.overruled else math.exp(self.logprob)


def answered(part: Part, answers: Path) -> list[Answered]:
    """Return the orders of a part that have an answer in a file of `answer.py`."""
    rows = map(json.loads, answers.read_text().splitlines())
    by_order = {(answer["part"], answer["id"]): answer for answer in rows}
    return [
        _answered(shop, row, by_order[part, row.id])
        for shop in shops(part)
        for row in shop.rows
        if (part, row.id) in by_order
    ]


def _answered(shop: TrainingShop, row: Row, answer: dict[str, Any]) -> Answered:
    predicted: Cart | None
    try:
        predicted = canonical(read_cart(answer["text"], shop.names).lines)
    except Unreadable:
        predicted = None
    return Answered(canonical(row.lines), predicted, answer["logprob"], answer.get("overruled", 0))


def outcome(orders: Sequence[Answered], accept: float, ask: float) -> Figures:
    """Count the outcomes at two thresholds; "wrong, unseen" are wrong carts that nobody corrects."""
    accepted = [order for order in orders if order.probability >= accept]
    asked = [order for order in orders if ask <= order.probability < accept]
    wrong, wrong_asked = (sum(not order.right for order in group) for group in (accepted, asked))
    return {
        "accept from": round(accept, 4),
        "ask from": ask,
        "accepted": len(accepted),
        "of them wrong": wrong,
        "asked": len(asked),
        "shown a wrong cart": wrong_asked,
        "to a person": len(orders) - len(accepted) - len(asked),
        "wrong, unseen": wrong + FALSE_YES * wrong_asked,
    }


def allowed(orders: Sequence[Answered]) -> list[Figures]:
    """Return, for each acceptance threshold, the outcome at the lowest asking threshold that keeps within
    `MAX_UNDETECTED`, if any does."""
    within: list[Figures] = []
    for accept in ACCEPT_FROM:
        tried = (outcome(orders, accept, ask) for ask in (*ASK_FROM, accept))
        within += [one for one in tried if one["wrong, unseen"] <= MAX_UNDETECTED * len(orders)][:1]
    return within


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="score")
    parser.add_argument("part")
    parser.add_argument("answers", type=Path)
    parser.add_argument("--thresholds", type=Path, help="write a table of thresholds as JSON")
    args = parser.parse_args(argv)
    orders = answered(args.part, args.answers)
    right, count = sum(order.right for order in orders), len(orders)
    invalid = sum(order.predicted is None for order in orders)
    print(f"{count} orders, {right} right ({right / max(1, count):.1%}), {invalid} without a cart")
    for accept in PRINTED:
        row = outcome(orders, accept, accept)
        print(f"accepted from {accept}: {row['accepted']}, {row['of them wrong']} of them wrong")
    if args.thresholds:
        about = {"part": args.part, "answers": args.answers.name, "orders": count}
        table = {"shipped": outcome(orders, ACCEPT, ASK), "allowed": allowed(orders)}
        args.thresholds.write_text(json.dumps(about | table, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
