"""Compare sets with their baselines: tolerances and the table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tests.gate.replay import Comparison
from tests.gate.rows import Row

BOOTSTRAPS, SEED = 10_000, 20_260_101
LARGE = 300
"""Sets of this size or more must keep the tolerances; for smaller ones the 95% interval must include zero."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A share of a set's orders, counted by a field of its rows.

    `worse` is the bad direction, None if both are fine; `tolerance` limits a move that way in a large set.
    """

    name: str
    field: Literal["exact", "right", "undetected", "human", "asked"]
    worse: Literal[-1, 1] | None = None
    tolerance: float = 0.0

    def of(self, row: Row) -> bool:
        return bool(getattr(row, self.field))


MEASURES = (
    Measure("exact", "exact", -1, 0.005),
    Measure("exact after answers", "right", -1, 0.005),
    Measure("undetected", "undetected", +1, 0.0),
    Measure("to a human", "human", +1, 0.01),
    Measure("asked", "asked"),
)


def failures(result: Comparison) -> list[str]:
    """Return the measures that exceed their tolerance. Missing orders fail too, as does an empty set."""
    failed = [one.name for one in MEASURES if _fails(one, result.pairs)]
    return failed + ["orders gone"] * (result.gone > 0) + ["no orders"] * (not result.pairs)


def _fails(measure: Measure, pairs: Sequence[tuple[Row, Row]]) -> bool:
    if measure.worse is None:
        return False
    then, now = ([measure.of(pair[side]) for pair in pairs] for side in (0, 1))
    if len(pairs) >= LARGE:
        # Compare counts: rounding of shares would fail a set that is exactly at its tolerance.
        return (sum(now) - sum(then)) * measure.worse > measure.tolerance * len(pairs)
    low, high = paired_interval(then, now)
    return high < 0 if measure.worse < 0 else low > 0


def paired_interval(before: Sequence[bool], after: Sequence[bool]) -> tuple[float, float]:
    """Return the 95% interval of the change in share, by a paired bootstrap with a fixed seed.

    A row's change is -1, 0 or 1, so resampling rows is resampling these three counts.
    """
    rows = len(before)
    if rows == 0:
        return 0.0, 0.0
    worse = sum(b and not a for b, a in zip(before, after, strict=True))
    better = sum(a and not b for b, a in zip(before, after, strict=True))
    shares = np.array([worse, rows - worse - better, better]) / rows
    drawn = np.random.default_rng(SEED).multinomial(rows, shares, size=BOOTSTRAPS)
    low, high = np.quantile((drawn[:, 2] - drawn[:, 0]) / rows, [0.025, 0.975])
    return round(float(low), 4), round(float(high), 4)


def changes(result: Comparison) -> list[tuple[Row, Row]]:
    """Return the pairs that differ."""
    return [(then, now) for then, now in result.pairs if then != now]


def table(results: Sequence[Comparison]) -> str:
    """Return a table with a line per set, each measure as "then > now"."""
    head = ["set", "orders", *(one.name for one in MEASURES), "changed", "no answer", "new", ""]
    rows = [head]
    for result in results:
        counts = [
            f"{sum(map(one.of, (then for then, _ in result.pairs)))} > "
            f"{sum(map(one.of, (now for _, now in result.pairs)))}"
            for one in MEASURES
        ]
        more = (len(changes(result)), result.missing, result.new)
        verdict = ", ".join(failures(result)) or "ok"
        rows.append([result.name, str(len(result.pairs)), *counts, *map(str, more), verdict])
    widths = [max(len(row[n]) for row in rows) for n in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def changed_rows(result: Comparison) -> Iterator[str]:
    """Yield the changes in each order of a set; nothing for a sealed set."""
    if result.sealed:
        return
    for then, now in changes(result):
        before, after = then.document(), now.document()
        yield f"{result.name} {then.id}"
        for name, value in before.items():
            if value != after[name]:
                yield f"    {name}: {value} > {after[name]}"
