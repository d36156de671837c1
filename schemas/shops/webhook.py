"""What the shop's system is told of an order, and when; how it is sent: docs/webhooks.md."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field

from schemas.cart import Cart, MenuRef
from schemas.lifecycle import State
from schemas.order import OrderError
from schemas.question import Question

# A state that is not here is nothing to tell: the order is still under way.
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


class Refusal(BaseModel):
    """One reason for which a till would refuse an order; `line` is the index of the cart line."""

    code: str
    message: str
    line: int | None = None


class WebhookOrder(BaseModel):
    """The order as it was when the message was written; the cart as the API shows it.

    `seq` grows over the messages of one order: a receiver that holds a later one may ignore an earlier.
    """

    order_id: str
    shop: str
    seq: int
    status: str
    menu: MenuRef
    cart: Cart | None
    question: Question | None = Field(default=None, description="what the customer is asked now")
    changed: list[str] = Field(default=[], description="what this change made of the cart, in words")
    metadata: dict[str, Any] | None
    error: OrderError | None
    refusals: list[Refusal] = Field(
        default=[],
        description="why the endpoint's till would refuse the order, which is sent in this form instead",
        exclude_if=lambda refusals: not refusals,
    )


class WebhookMessage(BaseModel):
    """The body of one webhook. `timestamp` is when the order changed, not when this was sent."""

    type: str
    timestamp: datetime
    data: WebhookOrder
