"""Hold answers against the carts that are meant.

    python -m services.learning.training.score PART ANSWERS.jsonl [--by menu|source]

Prints figures, never a row: the sealed part is only scored.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from schemas.compare import LineKey, canonical
from services.decoding.menu_names import Line, Unreadable
from services.decoding.wire import WireCart, read_cart
from services.learning.evaluation.word_errors import plain_words
from services.learning.training.orders import Part, Row, Shop, shops

Cart = Counter[LineKey]
Notes = Counter[tuple[str, tuple[str, ...]]]
"""The kind of each note and its words, folded."""


@dataclass(frozen=True, slots=True)
class Answered:
    """One order: the cart that is meant, the reader's (None where its answer is not a cart), that answer's
    logarithmic probability and how many of its tokens the mask chose; apart from them the notes."""

    row: Row
    menu: str
    meant: Cart
    read: Cart | None
    logprob: float
    overruled: int = 0
    notes_meant: Notes = field(default_factory=Counter)
    notes_read: Notes = field(default_factory=Counter)

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


def notes_of(notes: Iterable[tuple[str, str]]) -> Notes:
    """Notes as they are compared: (kind, words), as often as they occur."""
    return Counter((kind, tuple(plain_words(words))) for kind, words in notes)


def answers_in(file: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """What `answer.py` wrote, by part and order."""
    rows = map(json.loads, file.read_text().splitlines())
    return {(answer["part"], answer["id"]): answer for answer in rows}


def answered(part: Part, answers: Path) -> list[Answered]:
    """All orders of a part that have an answer."""
    found = answers_in(answers)
    return [
        _answered(shop, row, found[part, row.id])
        for shop in shops(part)
        for row in shop.rows
        if (part, row.id) in found
    ]


def _answered(shop: Shop, row: Row, answer: dict[str, Any]) -> Answered:
    cart: WireCart | None
    try:
        cart = read_cart(answer["text"], shop.names)
    except Unreadable:
        cart = None
    return Answered(
        row=row,
        menu=shop.menu.id,
        meant=cart_of(row.lines),
        read=cart_of(cart.lines) if cart else None,
        logprob=answer["logprob"],
        overruled=answer.get("overruled", 0),
        notes_meant=notes_of(row.notes),
        notes_read=notes_of(cart.notes if cart else ()),
    )


def figures(orders: list[Answered]) -> dict[str, Any]:
    """Counts and shares of all orders, in percent."""
    right = sum(order.right for order in orders)
    return {
        "orders": len(orders),
        "right": right,
        "right, %": round(100 * right / len(orders), 1) if orders else 0.0,
        "no cart": sum(order.read is None for order in orders),
        **_of_notes(orders),
    }


def _of_notes(orders: list[Answered]) -> dict[str, int]:
    """How many notes were meant, read, and both; none where there are none."""
    counts = {
        "notes meant": sum(o.notes_meant.total() for o in orders),
        "notes read": sum(o.notes_read.total() for o in orders),
        "notes right": sum((o.notes_meant & o.notes_read).total() for o in orders),
    }
    return counts if any(counts.values()) else {}


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="score")
    parser.add_argument("part")
    parser.add_argument("answers", type=Path, nargs="+")
    parser.add_argument("--by", choices=("menu", "source"))
    args = parser.parse_args(argv)
    for file in args.answers:
        orders = answered(args.part, file)
        groups: dict[str, list[Answered]] = defaultdict(list)
        for order in orders:
            groups["all"].append(order)
            if args.by:
                groups[order.menu if args.by == "menu" else order.row.source].append(order)
        for name, group in groups.items():
            found = figures(group)
            print(f"{file.name} {args.part} {name}: " + ", ".join(f"{k} {v}" for k, v in found.items()))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
