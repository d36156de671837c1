"""Measure how well orders of several utterances (`tests/orders/multi_turn`) and orders on the sample shops'
menus (`tests/orders/sample_shops`) are decoded, with this machine's settings.

    python -m tests.bench.multi_turn [tune] [tune_hard] [sealed] [shops]    # default: all; 5 minutes each

Prints counts, never a row. An interrupted run resumes from `reports/multi_turn`; don't read its files of the
sealed half.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from infra.settings import REPOSITORY, settings
from schemas.menu import Menu
from services.learning.evaluation.figures import Scored, figures
from services.learning.evaluation.run import read_rows
from services.learning.evaluation.session import EvalRequest, evaluate
from services.learning.training.notation import read_menu, read_orders

ORDER_SETS = REPOSITORY / "tests" / "orders"
SHOPS = REPOSITORY / "infra" / "samples" / "shops"
OUT = REPOSITORY / "reports" / "multi_turn"


def menu_of(name: str) -> Menu:
    """Return the menu of a sample shop or of a writer's orders."""
    shop = SHOPS / f"{name}.json"
    if shop.exists():
        return Menu.parse(json.loads(shop.read_text(encoding="utf-8")))
    [file] = ORDER_SETS.glob(f"*/*/{name}.menu")
    return read_menu(file)


def request(written: Path, out: Path) -> EvalRequest:
    """Write a menu's orders as gold rows under `out`; ` | ` separates utterances."""
    menu = menu_of(written.stem)
    orders, problems = read_orders(written, menu)
    if problems:
        raise SystemExit(f"{written.name}: {len(problems)} orders can't be read")
    gold = out / f"{written.stem}.jsonl"
    gold.parent.mkdir(parents=True, exist_ok=True)
    rows = (
        {"id": f"{menu.id}-{n}", "utterances": order.utterance.split(" | "), "cart": {"lines": order.lines}}
        for n, order in enumerate(orders)
    )
    gold.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return EvalRequest(menu, read_rows(gold), out=out / f"{written.stem}-predicted.jsonl")


def main(halves: list[str]) -> int:
    config = settings().model_copy(update={"max_order_total": 10**9})  # prices of these menus mean nothing
    for half in halves or ["tune", "tune_hard", "sealed", "shops"]:
        rows = list[Scored]()
        folder = ORDER_SETS / "sample_shops" if half == "shops" else ORDER_SETS / "multi_turn" / half
        for written in sorted(folder.glob("*.orders")):
            rows += evaluate(request(written, OUT / half), config, lambda _: None).rows
        print(f"{half}, {len(rows)} orders: {json.dumps(figures(rows)['after_answers'])}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
