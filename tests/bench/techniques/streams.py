"""The token streams that masks are timed on: valid carts that the bench's own run gave under our mask.

    python -m tests.bench.techniques.streams --results FOLDER --out FILE

Every masker must be able to follow them, so only carts within the cut-down bounds are taken.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from services.engines.masks.grammar import build_mask
from tests.bench.orders import Order, sample
from tests.bench.techniques.rows import rows_of
from tests.bench.techniques.wire import CUT_LINES, CUT_OPTIONS, cut_down, wire_schema

ALL = 10_000


def stream(order: Order, text: str) -> dict[str, Any] | None:
    """What a masker needs to follow one cart; None for one that is empty or beyond the bounds."""
    lines = json.loads(text)["lines"]
    most = max((len(line.get("options", ())) for line in lines), default=0)
    if not 1 <= len(lines) <= CUT_LINES or most > CUT_OPTIONS:
        return None
    schema = wire_schema(order.menu)
    return {
        "id": order.id,
        "menu": order.menu.id,
        "text": text,
        "schema": schema,
        "cut": cut_down(schema),
        "lark": build_mask(order.evidence(), order.labels, "bench").lark,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--results", type=Path, default=Path("reports/techniques"))
    parser.add_argument("--out", type=Path, default=Path("reports/techniques/streams.json"))
    args = parser.parse_args()
    rows = rows_of(args.results, "evidence", 0.0)
    orders = {order.id: order for order in sample(ALL)}
    found = [stream(orders[row["id"]], row["texts"][-1]) for row in rows if not row["failure"]]
    args.out.write_text(json.dumps([one for one in found if one]))
    print(f"{sum(one is not None for one in found)} streams in {args.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
