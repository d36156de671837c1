"""For tests of limits a minute, whose windows turn with the wall clock's minutes."""

from __future__ import annotations

import time


def in_one_minute(seconds: float = 8.0) -> None:
    """Wait, if the minute ends in less than this: when it turns, a little room is there again."""
    left_s = 60 - time.time() % 60
    if left_s < seconds:
        time.sleep(left_s + 0.01)
