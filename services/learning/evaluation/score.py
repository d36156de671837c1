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
    gold_lines: int
    predicted_lines: int
    equal_lines: int
    wrong: dict[str, int]


def score(gold: list[dict[str, Any]], predicted: list[dict[str, Any]]) -> LineScore:
    """Compare two carts given as draft lines."""
    want, got = canonical(gold), canonical(predicted)
    equal = sum(1 for key, quantity in want.items() if got.get(key) == quantity)
    return LineScore(want == got, len(want), len(got), equal, _differences(want, got))


def paired(want: Counter[LineKey], got: Counter[LineKey]) -> list[tuple[Line | None, Line | None]]:
    """Lines side by side: equal ones, then those of one item with the fewest differences, then the rest.

    Gold's lines keep their order; lines that only the prediction has come last, against None.
    """
    extra = [(key, quantity) for key, quantity in got.items() if want.get(key) != quantity]
    pairs: list[tuple[Line | None, Line | None]] = []
    for line in want.items():
        if got.get(line[0]) == line[1]:
            pairs.append((line, line))
            continue
        same_item = [other for other in extra if other[0][:2] == line[0][:2]]
        twin = min(same_item, key=lambda other: _distance(line, other), default=None)
        if twin is not None:
            extra.remove(twin)
        pairs.append((line, twin))
    return pairs + [(None, line) for line in extra]


def _distance(one: Line, other: Line) -> int:
    """How many fields two lines of one item differ in."""
    ((_, _, size, options), quantity), ((_, _, its_size, its_options), its_quantity) = one, other
    return (size != its_size) + (quantity != its_quantity) + len(options ^ its_options)


def _differences(want: Counter[LineKey], got: Counter[LineKey]) -> dict[str, int]:
    """Fields wrong by kind, after pairing what is left by item: item, size, option, quantity."""
    wrong: Counter[str] = Counter()
    for gold, predicted in paired(want, got):
        if gold is None or predicted is None:
            wrong["item added" if gold is None else "item missing"] += 1
            continue
        ((_, _, size, options), quantity), ((_, _, its_size, its_options), its_quantity) = gold, predicted
        mine, its = {o[:2]: o for o in options}, {o[:2]: o for o in its_options}
        wrong["size"] += size != its_size
        wrong["quantity"] += quantity != its_quantity
        wrong["option missing"] += len(mine.keys() - its.keys())
        wrong["option added"] += len(its.keys() - mine.keys())
        wrong["amount or count"] += sum(mine[both] != its[both] for both in mine.keys() & its.keys())
    return {field: count for field, count in wrong.items() if count}
