"""When are two carts the same order? Where scores, second reviewers and the record of corrections agree."""

from __future__ import annotations

from collections import Counter
from typing import Any

LineKey = tuple[Any, ...]


def canonical(lines: list[dict[str, Any]]) -> Counter[LineKey]:
    """Draft lines as a multiset: (kind, sku, size, options) -> quantity.

    Equal lines are merged, options are a set, fields left out mean their default, and the customer's words
    (`heard`) do not count.
    """
    merged: Counter[LineKey] = Counter()
    for line in lines:
        options = frozenset(
            (o["group"], o["id"], o.get("amount", "normal"), o.get("count", 1))
            for o in line.get("options", ())
        )
        key = (line.get("kind", "item"), line.get("sku"), line.get("size"), options)
        merged[key] += line["quantity"]
    return merged
