"""When is a cart right? Gold and prediction compared on the draft, before any default is filled in.

Two carts are equal when their lines are equal as multisets: equal lines merged (their quantities added),
options as sets. The customer's words (`heard`) do not count.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from schemas.compare import LineKey, canonical


@dataclass(frozen=True, slots=True)
class LineScore:
    """How two carts differ. `wrong` counts, by field, what a matched item line got wrong."""

    exact: bool
    gold_lines: int
    predicted_lines: int
    equal_lines: int
    wrong: dict[str, int]


def score(gold: list[dict[str, Any]], predicted: list[dict[str, Any]]) -> LineScore:
    """Compare two carts given as draft lines."""
    want, got = canonical(gold), canonical(predicted)
    equal = sum(1 for key, quantity in want.items() if got.get(key) == quantity)
    return LineScore(want == got, len(want), len(got), equal, _differences(want, got))


def _differences(want: Counter[LineKey], got: Counter[LineKey]) -> dict[str, int]:
    """Fields wrong by kind, after pairing what is left by item: item, size, option, quantity."""
    missing = [(k, q) for k, q in want.items() if got.get(k) != q]
    extra = [(k, q) for k, q in got.items() if want.get(k) != q]
    wrong: Counter[str] = Counter()
    for (kind, sku, size, options), quantity in missing:
        twin = next((e for e in extra if e[0][:2] == (kind, sku)), None)
        if twin is None:
            wrong["item missing"] += 1
            continue
        extra.remove(twin)
        (_, _, its_size, its_options), its_quantity = twin
        wrong["size"] += size != its_size
        wrong["quantity"] += quantity != its_quantity
        wrong["option missing"] += len({o[:2] for o in options} - {o[:2] for o in its_options})
        wrong["option added"] += len({o[:2] for o in its_options} - {o[:2] for o in options})
        both = {o[:2] for o in options} & {o[:2] for o in its_options}
        wrong["amount or count"] += sum(
            {o for o in options if o[:2] == b} != {o for o in its_options if o[:2] == b} for b in both
        )
    wrong["item added"] += len(extra)
    return {field: count for field, count in wrong.items() if count}
