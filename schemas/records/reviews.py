"""Reviews as values: the queue, what reviewers did, and what they settled."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from schemas.cart import Cart
from schemas.records.orders import OrderRecord
from schemas.review import ReviewReason, Standing


@dataclass(frozen=True, slots=True)
class ReviewRecord:
    """One review row. `status` is open, claimed, decided or withdrawn; a claim past `lease_until` is free
    to be taken over though it still says claimed. `version` grows whenever a reviewer would read something
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
    standing: Standing | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class QueueEntry:
    """One undecided review as the queue shows it, with the words and the menu of its order; `allergy` says
    in a sentence that the customer spoke of one, or of a diet."""

    review: ReviewRecord
    words: str
    allergy: str | None
    menu_id: str
    spoken: bool


@dataclass(frozen=True, slots=True)
class Queue:
    """What waits at `now`, the database's time: the first entries, and how many there are of all kinds."""

    now: datetime
    entries: tuple[QueueEntry, ...]
    waiting: int
    held: int


@dataclass(frozen=True, slots=True)
class ReviewAct:
    """One thing that a reviewer did: see `review_log.py` for the actions. Carts are as the API shows them."""

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
    """What reviewers decided in some hours, counted. Times are in whole seconds."""

    by_hour: Counter[datetime]
    actions: Counter[str]
    people: Counter[str]
    waits_s: Counter[int]
    works_s: Counter[int]
    changes: Counter[str]
