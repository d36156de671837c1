"""The statistics of a run: intervals, quantiles, and how well a confidence ranks.

Each is a few lines of a textbook formula, so that a reader can check it; shares are 0..1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

Z95 = 1.959964
BOOTSTRAPS = 10_000
SEED = 20_260_101


def wilson(hits: int, rows: int) -> tuple[float, float]:
    """The 95% interval of a share, after Wilson: sound for few rows and near 0 and 1. No rows: 0 to 1."""
    if rows == 0:
        return 0.0, 1.0
    share, z2 = hits / rows, Z95**2
    middle = (share + z2 / (2 * rows)) / (1 + z2 / rows)
    half = Z95 / (1 + z2 / rows) * math.sqrt(share * (1 - share) / rows + z2 / (4 * rows**2))
    return round(max(0.0, middle - half), 4), round(min(1.0, middle + half), 4)


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


def auroc(confidences: Sequence[float], right: Sequence[bool]) -> float | None:
    """How often a right one has more confidence than a wrong one, ties as half; None when one kind lacks."""
    good = [c for c, ok in zip(confidences, right, strict=True) if ok]
    bad = [c for c, ok in zip(confidences, right, strict=True) if not ok]
    if not good or not bad:
        return None
    wins = sum((g > b) + 0.5 * (g == b) for g in good for b in bad)
    return round(wins / (len(good) * len(bad)), 4)


def quantile(values: Sequence[float], share: float) -> float:
    """The smallest value that `share` of all values do not exceed (nearest rank)."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]
