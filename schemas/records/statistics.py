"""A shop's orders of some days, counted."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import date


@dataclass(slots=True)
class OrderCount:
    """Orders received in some time, and how many of them are completed by now."""

    orders: int = 0
    completed: int = 0


@dataclass(frozen=True, slots=True)
class Duration:
    """The median of some durations and the one that 95% of them are within, in seconds."""

    median_s: float
    p95_s: float


@dataclass(frozen=True, slots=True)
class OrderStatistics:
    """Orders by day, the oldest first, and by the 24 hours of the day, in the time zone `zone`.

    `asked`: those whose customer was asked something; `to_staff`: those that took a person; both with the
    orders of each doubt, by code of a finding or `ReviewReason`. `items` counts the names of items in doubt.
    `to_cart`: from receipt to the first cart or question; `to_settled`: to completion or rejection; None
    without such orders.
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
