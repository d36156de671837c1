"""Statistics of a shop's orders in a period."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import date


@dataclass(slots=True)
class OrderCount:
    """Orders received in a period, and how many of them are completed."""

    orders: int = 0
    completed: int = 0


@dataclass(frozen=True, slots=True)
class Duration:
    """The median and 95th percentile of durations, in seconds."""

    median_s: float
    p95_s: float


@dataclass(frozen=True, slots=True)
class OrderStatistics:
    """Orders by day, the oldest first, and by the 24 hours of the day, in the time zone `zone`.

    `asked` counts orders whose customer was asked something, `to_staff` those that needed a person; `…_for`
    counts them by code of the finding or `ReviewReason`, `items` the names of doubted items. `to_cart` is
    from receipt to the first cart or question, `to_settled` to completion or rejection; None without any.
    """

    zone: str
    days: dict[date, OrderCount]
    hours: tuple[OrderCount, ...]
    asked: int
    asked_for: Counter[str]
    to_staff: int
    to_staff_for: Counter[str]
    items: Counter[str]
    to_cart: Duration | None
    to_settled: Duration | None
