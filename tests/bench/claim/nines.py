"""The arithmetic of nines: what a share of failures is in a day, and what so many clean orders can show.

0 failures of N say that the share is under `upper_bound(N)`, with 95% confidence: about 3 / N.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Day:
    """A day of `calls` of which a share fails."""

    calls: int
    share: float
    failures: float
    hours_between: float
    """From one failure to the next, on average; infinite where none fails."""


def day(calls: int, share: float) -> Day:
    """What a share of failures (0..1) comes to.

    Raises:
        ValueError: no share, or fewer calls than none.
    """
    if not 0 <= share <= 1 or calls < 0:
        raise ValueError(f"a share is 0 to 1 and calls are 0 or more, not {share} and {calls}")
    failures = calls * share
    return Day(calls, share, failures, 24 / failures if failures else math.inf)


def upper_bound(clean: int) -> float:
    """The greatest share (0..1) that `clean` orders without a failure still allow: exact and one-sided, the
    share at which so long a run without one has a chance of 5%. No orders: 1."""
    return 1 - (1 - CONFIDENCE) ** (1 / clean) if clean else 1.0


def needed(share: float) -> int:
    """How many orders without a failure it takes to show that fewer than `share` fail.

    Raises:
        ValueError: 0 or less can't be shown by any number, 1 or more needs none.
    """
    if not 0 < share < 1:
        raise ValueError(f"a share between 0 and 1, not {share}")
    return math.ceil(math.log(1 - CONFIDENCE) / math.log(1 - share))
