"""Reviews as values: the queue, what reviewers did, and what they settled."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from schemas.priced_cart import Cart, Finding
from schemas.records.orders import OrderRecord
from schemas.review import ReviewReason


@dataclass(frozen=True, slots=True)
class ReviewRecord:
    """One review row. `status` is open, claimed, decided or withdrawn; a claim past `lease_until` is free
    to be taken over though it still says claimed. An open one with `lease_until` waits for its customer's
    answer until then, though it may be taken. `version` grows whenever a reviewer would read something
    else; renewing a claim leaves it alone.
    """

    id: str
    shop: str
    order_id: str
    status: str
    reasons: tuple[ReviewReason, ...]
    version: int
    claimed_by: str | None
    lease_until: datetime | None
    decision: str | None
    decided_by: str | None
    decided_at: datetime | None
    reason: str | None
    proposed: Cart | None
    created_at: datetime

    def holder(self, now: datetime) -> str | None:
        """Return the reviewer who holds it; None if it is free or its claim has expired."""
        held = self.status == "claimed" and self.lease_until is not None and self.lease_until > now
        return self.claimed_by if held else None

    def asks(self, now: datetime) -> bool:
        """Whether it is its customer's turn: a reviewer's question has time left to be answered."""
        return self.status == "open" and self.lease_until is not None and self.lease_until > now


@dataclass(frozen=True, slots=True)
class QueueEntry:
    """One undecided review as the queue shows it, with the words, the findings and the menu of its order;
    `unsure` are the words of it that are most in doubt, `unused` those that its cart doesn't have."""

    review: ReviewRecord
    words: str
    findings: tuple[Finding, ...]
    unsure: tuple[str, ...]
    unused: tuple[str, ...]
    menu_id: str
    spoken: bool


@dataclass(frozen=True, slots=True)
class Queue:
    """What waits at `now`, the database's time: the first entries of the kind that was asked for, how many
    `more` there are of it, and how many of all kinds wait and are held."""

    now: datetime
    entries: tuple[QueueEntry, ...]
    more: int
    waiting: int
    held: int


@dataclass(frozen=True, slots=True)
class ReviewAct:
    """One thing that a reviewer did; `services/storage/reviews/log.py` lists the actions."""

    review_id: str
    at: datetime
    actor: str
    action: str
    before: Cart | None
    after: Cart | None
    reason: str | None
    detail: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Settled:
    """One decided review with its order, and the cart after it."""

    review: ReviewRecord
    order: OrderRecord
    after: Cart | None


@dataclass(frozen=True, slots=True)
class Decided:
    """What reviewers decided in some days, counted; `wait_s` is the median wait, None without decisions."""

    actions: Counter[str]
    people: Counter[str]
    wait_s: float | None
    changes: Counter[str]

    @property
    def agreement(self) -> float | None:
        """The share of sold orders that were approved unchanged; a rejection says nothing about the cart."""
        sold = self.actions["approve"] + self.actions["correct"]
        return self.actions["approve"] / sold if sold else None
