"""Reviews as storage returns them: the queue, reviewers' actions, and settled reviews."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from schemas.priced_cart import Cart, Finding
from schemas.records.orders import OrderRecord
from schemas.review import ReviewReason


@dataclass(frozen=True, slots=True)
class ReviewRecord:
    """One review row. `status` is open, claimed, decided or withdrawn; a claim past `lease_until` may be
    taken over. An open review with `lease_until` waits for its customer's answer until then, but may be
    claimed. `version` grows with every visible change, not when a claim is renewed."""

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
        """Return True while a reviewer's question waits for the customer's answer."""
        return self.status == "open" and self.lease_until is not None and self.lease_until > now


@dataclass(frozen=True, slots=True)
class QueueEntry:
    """One undecided review in the queue, with its order's words and findings; `unsure` are the words
    most in doubt, `unused` those not in the cart."""

    review: ReviewRecord
    words: str
    findings: tuple[Finding, ...]
    unsure: tuple[str, ...]
    unused: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Queue:
    """The queue at `now`, the database's time: the first matching entries, how many `more` match, and how
    many of all kinds are waiting and held."""

    now: datetime
    entries: tuple[QueueEntry, ...]
    more: int
    waiting: int
    held: int


@dataclass(frozen=True, slots=True)
class ReviewAct:
    """One action of a reviewer; `services/storage/reviews/store.py` lists the actions."""

    review_id: str
    at: datetime
    actor: str
    action: str
    decision: str | None
    before: Cart | None
    after: Cart | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class Settled:
    """A decided review with its order, and the resulting cart."""

    review: ReviewRecord
    order: OrderRecord
    after: Cart | None


@dataclass(frozen=True, slots=True)
class ReviewStatistics:
    """Counts of reviewers' decisions in a period; `wait_s` is the median wait, None without decisions."""

    actions: Counter[str]
    people: Counter[str]
    wait_s: float | None
    changes: Counter[str]

    @property
    def agreement(self) -> float | None:
        """The share of sold orders that were approved unchanged; a rejection says nothing about the cart."""
        sold = self.actions["approve"] + self.actions["correct"]
        return self.actions["approve"] / sold if sold else None
