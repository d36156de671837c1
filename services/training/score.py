"""Hold answers against the carts that are meant, alone and together with the rules' reading.

    python -m services.training.score PART ANSWERS.jsonl [--by menu|source]

Prints figures, never a row: the sealed part is only scored.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from schemas.cart import CartDraft
from schemas.compare import LineKey, canonical
from services.checks.one_cart import one_cart, undoubted_cart
from services.decoding.short_form import Line, Unreadable
from services.decoding.wire import Told
from services.evaluation.hearing import plain_words
from services.reading.order import read_order
from services.training.forms import read_answer
from services.training.orders import Part, Row, Shop, shops

Cart = Counter[LineKey]
Notes = Counter[tuple[str, tuple[str, ...]]]
"""The kind of each note and its words, folded."""


@dataclass(frozen=True, slots=True)
class Answered:
    """One order: the cart meant, the rules' (None where they leave it open) and whether they doubt it, the
    reader's (None where it is no cart) and its logarithmic probability; apart from them the notes."""

    row: Row
    menu: str
    meant: Cart
    rules: Cart | None
    doubted: bool
    read: Cart | None
    logprob: float
    notes_meant: Notes = field(default_factory=Counter)
    notes_read: Notes = field(default_factory=Counter)

    @property
    def agreed(self) -> bool:
        return self.read is not None and self.rules == self.read


def cart_of(lines: Iterable[Line]) -> Cart:
    """Lines of a gold cart or a short form, as they are compared."""
    return canonical(
        [line | ({} if line.get("sku") else {"kind": "not_on_menu", "sku": None}) for line in lines]
    )


def notes_of(notes: Iterable[tuple[str, str]]) -> Notes:
    """Notes as they are compared: (kind, words), as often as they are told."""
    return Counter((kind, tuple(plain_words(words))) for kind, words in notes)


def answers_in(file: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """What `answer.py` wrote, by part and order."""
    told = map(json.loads, file.read_text().splitlines())
    return {(answer["part"], answer["id"]): answer for answer in told}


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
    told: Told | None
    try:
        told = read_answer(answer["text"], shop)
    except Unreadable:
        told = None
    evidence = read_order(row.said, shop.menu, 1)
    settled = one_cart(evidence)
    return Answered(
        row=row,
        menu=shop.menu.id,
        meant=cart_of(row.lines),
        rules=_of_draft(settled) if settled else None,
        doubted=undoubted_cart(evidence) is None,
        read=cart_of(told.lines) if told else None,
        logprob=answer["logprob"],
        notes_meant=notes_of(row.notes),
        notes_read=notes_of(told.notes if told else ()),
    )


def _of_draft(draft: CartDraft) -> Cart:
    return cart_of(draft.model_dump(mode="json")["lines"])


def figures(orders: list[Answered]) -> dict[str, Any]:
    """Shares of all orders, in percent, and counts of what was wrong and not looked at."""
    n = len(orders)

    def share(count: int) -> float:
        return round(100 * count / n, 1) if n else 0.0

    silent = [o for o in orders if o.rules is not None and not o.doubted]
    both = [o for o in silent if o.agreed]
    return {
        "orders": n,
        "rules: one cart, right": share(sum(o.rules == o.meant for o in orders)),
        "rules: accepted": share(len(silent)),
        "rules: accepted wrong": share(sum(o.rules != o.meant for o in silent)),
        "reader: right": share(sum(o.read == o.meant for o in orders)),
        "reader: no cart": share(sum(o.read is None for o in orders)),
        "either right": share(sum(o.meant in (o.read, o.rules) for o in orders)),
        "both accept": share(len(both)),
        "both accept, wrong": share(sum(o.rules != o.meant for o in both)),
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


def accepted_at(orders: list[Answered], silent: float) -> tuple[float, float, float]:
    """The reader alone, by its own probability: the largest share accepted of which at most `silent` (0..1,
    of all orders) is wrong; that share, the share wrong, and the log-probability it takes."""
    best, wrong = (0.0, 0.0, 0.0), 0
    ranked = sorted((o for o in orders if o.read is not None), key=lambda o: -o.logprob)
    for count, order in enumerate(ranked, 1):
        wrong += order.read != order.meant
        if wrong <= silent * len(orders):
            best = (count / len(orders), wrong / len(orders), order.logprob)
    return best


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
            told = figures(group)
            share, wrong, at = accepted_at(group, 0.01)
            told["reader alone accepts, 1% wrong"] = f"{share:.1%} ({wrong:.1%}, {at:.2f})"
            print(f"{file.name} {args.part} {name}: " + ", ".join(f"{k} {v}" for k, v in told.items()))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
