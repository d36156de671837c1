"""The statistics of a run: intervals and quantiles; shares are 0..1."""

from __future__ import annotations

import math
from collections.abc import Sequence

Z95 = 1.959964


def wilson(hits: int, rows: int) -> tuple[float, float]:
    """The 95% interval of a share, after Wilson: sound for few rows and near 0 and 1. No rows: 0 to 1."""
    if rows == 0:
        return 0.0, 1.0
    share, z2 = hits / rows, Z95**2
    middle = (share + z2 / (2 * rows)) / (1 + z2 / rows)
    half = Z95 / (1 + z2 / rows) * math.sqrt(share * (1 - share) / rows + z2 / (4 * rows**2))
    return round(max(0.0, middle - half), 4), round(min(1.0, middle + half), 4)


def quantile(values: Sequence[float], share: float) -> float:
    """The smallest value that `share` of all values do not exceed (nearest rank)."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]
