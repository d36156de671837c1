"""A shop's own webhook endpoints; what is sent there: `webhook.py`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

MAX_ENDPOINTS = 10
"""Of one shop: each is one more message for each order that settles."""

Till = Literal["square", "toast", "deliverect"]
"""A till whose form completed orders are sent in."""

Allowed = Literal["off", "public", "private"]
"""The setting `webhook_endpoints`."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One endpoint without its secret; `events` is None for all. With a `till`, completed orders are sent in
    its form, for its `location` (docs/tills.md)."""

    id: str
    shop: str
    url: str
    events: tuple[str, ...] | None
    created_at: datetime
    waiting: int = 0
    dead: int = 0
    till: Till | None = None
    location: str | None = None
