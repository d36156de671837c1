"""Why orders that were spoken go to a human, and how many of these reviews found a right cart.

    python -m tests.bench.hearing.heard_reviews spec OUT [--each 20]       # OUT/MENU/spec.json and menu.json
    python -m tests.bench.hearing.heard_reviews table PREDICTIONS=GOLD ...

The spec is of orders for the menus that thresholds are tuned on, none of which the reader has learned.
Between the two `tests/golden/speak/speak.py` speaks them, in its own environment, and `saycart eval --out`
makes the predictions. Sealed rows are refused.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from schemas.compare import canonical
from services.evaluation.answering import became
from services.training.orders import shops
from tests.bench.hearing.heard_taught import row
from tests.bench.techniques.report import markdown

Rows = Iterable[tuple[dict[str, Any], dict[str, Any]]]
"""Predictions, each with its gold row."""


def specs(out: Path, each: int) -> None:
    """Write for every menu of the tuned part a spec of so many orders, noisy as `heard_taught` draws them."""
    dice = random.Random(70)
    for shop in shops("tune"):
        chosen = dice.sample(shop.rows, min(each, len(shop.rows)))
        rows = [
            {**row(shop, order, number, dice), "lines": [{"heard": "", **line} for line in order.lines]}
            for number, order in enumerate(chosen)
        ]
        folder = out / shop.menu.id
        folder.mkdir(parents=True, exist_ok=True)
        for name, document in (("spec", {"rows": rows}), ("menu", shop.menu.model_dump(mode="json"))):
            text = json.dumps(document, ensure_ascii=False, indent=1) + "\n"
            (folder / f"{name}.json").write_text(text, encoding="utf-8")


def scored(predictions: Path, gold: Path) -> Rows:
    """Predictions that have a gold row, with it.

    Raises:
        SystemExit: the gold rows are of a sealed half, which nobody looks at by order.
    """
    if "sealed" in gold.name or "sealed" in gold.parts:
        raise SystemExit(f"{gold} is sealed")
    known = {row["id"]: row for row in _read(gold)}
    return [(row, known[row["id"]]) for row in _read(predictions) if row["id"] in known]


def why(made: dict[str, Any]) -> tuple[str, ...]:
    """What sent a prediction to a human: reasons, and in place of a blocking finding its code."""
    codes = {found["code"] for found in made["findings"] if found["severity"] == "blocking"}
    return tuple(sorted({*made["reasons"], *codes} - {"blocking_finding"}))


def counted(rows: Rows) -> tuple[Counter[str], dict[tuple[str, ...], Counter[str]]]:
    """Counts over all, and by what sent an order to a human."""
    total: Counter[str] = Counter()
    by_reason: dict[tuple[str, ...], Counter[str]] = {}
    for made, gold in rows:
        meant = canonical(gold["cart"]["lines"])
        told = became(made, meant)
        total.update(["orders", *told])
        if made["decision"] != "review":
            continue
        counts = by_reason.setdefault(why(made), Counter())
        right = canonical(made["cart"]["lines"]) == meant
        counts.update(reviews=1, right=int(right), human=int("to a human" in told))
    return total, by_reason


def table(rows: Rows) -> str:
    """The counts as text: a row for each set of reasons, the commonest first."""
    total, by_reason = counted(rows)
    ordered = sorted(by_reason.items(), key=lambda one: -one[1]["reviews"])
    cells = [
        [
            ", ".join(why),
            counts["reviews"],
            counts["right"],
            counts["reviews"] - counts["right"],
            counts["human"],
        ]
        for why, counts in ordered
    ]
    lines = [f"{name}: {count}" for name, count in total.items()]
    header = ["reasons", "reviews", "cart right", "cart wrong", "to a human after answers"]
    return "\n".join([*lines, "", markdown([header, *([str(cell) for cell in row] for row in cells)])])


def _read(file: Path) -> Iterator[dict[str, Any]]:
    yield from map(json.loads, file.read_text(encoding="utf-8").splitlines())


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    steps = parser.add_subparsers(dest="step", required=True)
    spec = steps.add_parser("spec")
    spec.add_argument("out", type=Path)
    spec.add_argument("--each", type=int, default=20)
    steps.add_parser("table").add_argument("pairs", nargs="+")
    args = parser.parse_args()
    if args.step == "spec":
        specs(args.out, args.each)
        return 0
    pairs = [map(Path, pair.split("=", 1)) for pair in args.pairs]
    print(table([row for predictions, gold in pairs for row in scored(predictions, gold)]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
