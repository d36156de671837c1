"""When is a cart right? Gold and prediction compared on the draft, before any default is filled in.

Two carts are equal when their lines are equal as multisets: equal lines merged (their quantities added),
options as sets. The customer's words (`heard`) do not count.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from schemas.compare import LineKey, canonical

Line = tuple[LineKey, int]


@dataclass(frozen=True, slots=True)
class LineScore:
    """How two carts differ. `wrong` counts, by field, what a matched item line got wrong."""

    exact: bool
    wrong: dict[str, int]


def score(gold: list[dict[str, Any]], predicted: list[dict[str, Any]]) -> LineScore:
    """Compare two carts given as draft lines."""
    want, got = canonical(gold), canonical(predicted)
    return LineScore(want == got, _differences(want, got))


def _differences(want: Counter[LineKey], got: Counter[LineKey]) -> dict[str, int]:
    """Count wrong fields by kind. A line that differs is compared with the most similar one of its item."""
    wrong: Counter[str] = Counter()
    extra = [line for line in got.items() if want.get(line[0]) != line[1]]
    for line in want.items():
        if got.get(line[0]) == line[1]:
            continue
        same_item = [other for other in extra if other[0][:2] == line[0][:2]]
        twin = min(same_item, key=lambda other: _fields(line, other).total(), default=None)
        if twin is None:
            wrong["item missing"] += 1
        else:
            extra.remove(twin)
            wrong += _fields(line, twin)
    wrong["item added"] += len(extra)
    return dict(+wrong)


def _fields(gold: Line, predicted: Line) -> Counter[str]:
    """Count the fields in which two lines of one item differ."""
    ((_, _, size, options), quantity), ((_, _, its_size, its_options), its_quantity) = gold, predicted
    mine, its = {o[:2]: o for o in options}, {o[:2]: o for o in its_options}
    return Counter(
        {
            "size": size != its_size,
            "quantity": quantity != its_quantity,
            "option missing": len(mine.keys() - its.keys()),
            "option added": len(its.keys() - mine.keys()),
            "amount or count": sum(mine[both] != its[both] for both in mine.keys() & its.keys()),
        }
    )
