"""Is any set worse than its baseline? The tolerances, and the table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tests.gate.replay import Compared
from tests.gate.rows import Row

BOOTSTRAPS, SEED = 10_000, 20_260_101
LARGE = 300
"""Orders from which a set's shares are held to the tolerances; a smaller set is held to the 95% interval."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A share of a set's orders that is counted, by the field of its rows; `worse` says in which direction,
    None where it may move. `tolerance` is how far it may go that way in a large set."""

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


def failures(found: Compared) -> list[str]:
    """Return the measures by which a set is past its tolerance; orders that are gone are one too, and none
    that could be compared."""
    past = [one.name for one in MEASURES if _is_past(one, found.pairs)]
    return past + ["orders gone"] * (found.gone > 0) + ["no orders"] * (not found.pairs)


def _is_past(measure: Measure, pairs: Sequence[tuple[Row, Row]]) -> bool:
    if measure.worse is None:
        return False
    then, now = ([measure.of(pair[side]) for pair in pairs] for side in (0, 1))
    if len(pairs) >= LARGE:
        # In orders: shares of floats would put a set that is exactly at its tolerance past it.
        return (sum(now) - sum(then)) * measure.worse > measure.tolerance * len(pairs)
    low, high = paired_interval(then, now)
    return high < 0 if measure.worse < 0 else low > 0


def paired_interval(before: Sequence[bool], after: Sequence[bool]) -> tuple[float, float]:
    """The 95% interval of the difference in share, by a paired bootstrap with a fixed seed.

    A row's difference is -1, 0 or 1, so drawing rows with replacement is drawing from these three counts.
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


def changes(found: Compared) -> list[tuple[Row, Row]]:
    """Return the pairs that differ in anything."""
    return [(then, now) for then, now in found.pairs if then != now]


def table(results: Sequence[Compared]) -> str:
    """Return one line a set: each measure as "then > now"."""
    head = ["set", "orders", *(one.name for one in MEASURES), "changed", "no answer", "new", ""]
    rows = [head]
    for found in results:
        counts = [
            f"{sum(map(one.of, (then for then, _ in found.pairs)))} > "
            f"{sum(map(one.of, (now for _, now in found.pairs)))}"
            for one in MEASURES
        ]
        more = (len(changes(found)), found.missing, found.new)
        verdict = ", ".join(failures(found)) or "ok"
        rows.append([found.name, str(len(found.pairs)), *counts, *map(str, more), verdict])
    widths = [max(len(row[n]) for row in rows) for n in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def changed_rows(found: Compared) -> Iterator[str]:
    """Yield what changed in each order of a set; of a sealed set nothing."""
    if found.sealed:
        return
    for then, now in changes(found):
        before, after = then.document(), now.document()
        yield f"{found.name} {then.id}"
        for name, value in before.items():
            if value != after[name]:
                yield f"    {name}: {value} > {after[name]}"
