"""A shop's webhook endpoints, and the messages sent to them about an order (docs/webhooks.md)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, Field

from schemas.described import Described
from schemas.lifecycle import State
from schemas.order import OrderError
from schemas.priced_cart import Cart, MenuRef
from schemas.question import Question

MAX_ENDPOINTS = 10
"""Per shop: every settled order is sent to each of them."""

Till = Literal["square", "toast", "deliverect"]
"""A till whose format completed orders are sent in."""

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

    @property
    def origin(self) -> str:
        """The URL without its path, which may hold a token."""
        scheme, _, rest = self.url.partition("://")
        return f"{scheme}://{rest.partition('/')[0].partition('?')[0]}"


# Other states are not reported: the order is still in progress.
TYPES: dict[State, str] = {
    State.COMPLETED: "order.completed",
    State.REJECTED: "order.rejected",
    State.FAILED: "order.failed",
    State.CANCELLED: "order.cancelled",
    State.IN_REVIEW: "order.needs_review",
    State.PROPOSED: "order.needs_confirmation",
}
ASKS, CHANGED, TAKEN = "order.asks", "order.changed", "order.taken"
EVENTS = (*TYPES.values(), ASKS, CHANGED, TAKEN)
TEST = "order.test"


class Refusal(BaseModel):
    """One reason for which a till would refuse an order; `line` is the index of the cart line."""

    code: str
    message: str
    line: int | None = None


class WebhookOrder(Described):
    """The order as it was when the message was written; the cart as the API shows it.

    `seq` grows over the messages of one order: a receiver that holds a later one may ignore an earlier.
    """

    order_id: str
    shop: str
    seq: int
    status: str
    menu: MenuRef
    cart: Cart | None
    question: Question | None = None
    """What the customer is asked now."""
    changed: list[str] = []
    """What this change made of the cart, in words."""
    metadata: dict[str, Any] | None
    error: OrderError | None
    refusals: list[Refusal] = Field(default=[], exclude_if=lambda refusals: not refusals)
    """Why the endpoint's till would refuse the order, which is sent in this form instead."""


class WebhookMessage(BaseModel):
    """The body of one webhook. `timestamp` is when the order changed, not when this was sent."""

    type: str
    timestamp: datetime
    data: WebhookOrder
