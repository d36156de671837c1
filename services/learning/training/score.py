"""Hold answers against the carts that are meant, and find from which probabilities carts are accepted, and
their customers asked whether they are right.

    python -m services.learning.training.score PART ANSWERS.jsonl [--thresholds TABLE.json]

At most `WRONG` of all orders may be wrong unseen, where `NOD` of the customers who are shown a wrong cart say
yes to it. Prints figures, never a row: the sealed part is only scored.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schemas.cart import Line
from schemas.compare import LineKey, canonical
from schemas.decision import ACCEPT, ASK
from services.decoding.menu_names import Unreadable
from services.decoding.wire import read_cart
from services.learning.training.orders import Part, Row, TrainingShop, shops

Cart = Counter[LineKey]
Figures = dict[str, float]
WRONG, NOD = 0.01, 0.25
ACCEPT_FROM = tuple(math.exp(-at) for at in (0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2))
PRINTED = (ACCEPT, 0.99, 0.97, 0.9, 0.6)
ASK_FROM = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


@dataclass(frozen=True, slots=True)
class Answered:
    """One order: the cart that is meant, the reader's (None where its answer is not a cart), that answer's
    logarithmic probability and how many of its tokens the mask chose."""

    meant: Cart
    read: Cart | None
    logprob: float
    overruled: int = 0

    @property
    def right(self) -> bool:
        return self.read == self.meant

    @property
    def probability(self) -> float:
        """What the reader thinks of its cart; 0 where it has none or the mask overruled it, as a decision
        takes it."""
        return 0.0 if self.read is None or self.overruled else math.exp(self.logprob)


def cart_of(lines: Iterable[Line]) -> Cart:
    """Lines of a gold cart or an answer, as they are compared."""
    return canonical(
        [line | ({} if line.get("sku") else {"kind": "not_on_menu", "sku": None}) for line in lines]
    )


def answered(part: Part, answers: Path) -> list[Answered]:
    """All orders of a part that have an answer in the file that `answer.py` wrote."""
    rows = map(json.loads, answers.read_text().splitlines())
    found = {(answer["part"], answer["id"]): answer for answer in rows}
    return [
        _answered(shop, row, found[part, row.id])
        for shop in shops(part)
        for row in shop.rows
        if (part, row.id) in found
    ]


def _answered(shop: TrainingShop, row: Row, answer: dict[str, Any]) -> Answered:
    read: Cart | None
    try:
        read = cart_of(read_cart(answer["text"], shop.names).lines)
    except Unreadable:
        read = None
    return Answered(cart_of(row.lines), read, answer["logprob"], answer.get("overruled", 0))


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
    parser = argparse.ArgumentParser(prog="score")
    parser.add_argument("part")
    parser.add_argument("answers", type=Path)
    parser.add_argument("--thresholds", type=Path, help="write what thresholds come to, as JSON")
    args = parser.parse_args(argv)
    orders = answered(args.part, args.answers)
    right, count = sum(order.right for order in orders), len(orders)
    unread = sum(order.read is None for order in orders)
    print(f"{count} orders, {right} right ({right / max(1, count):.1%}), {unread} without a cart")
    for accept in PRINTED:
        at = outcome(orders, accept, accept)
        print(f"accepted from {accept}: {at['accepted']}, of them wrong {at['of them wrong']}")
    if args.thresholds:
        about = {"part": args.part, "answers": args.answers.name, "orders": count}
        table = {"shipped": outcome(orders, ACCEPT, ASK), "allowed": allowed(orders)}
        args.thresholds.write_text(json.dumps(about | table, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
