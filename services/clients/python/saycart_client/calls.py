"""The calls of the API as values, and when to send one again: shared by both clients."""

from __future__ import annotations

import json
import random
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import httpx

from saycart_client.errors import NotSettled, ProblemError, Unreachable
from saycart_client.models import CartDraft, Choice, Order, ReviewDetail

URL = "http://127.0.0.1:8420"
TIMEOUT = httpx.Timeout(40.0, connect=5.0)
# Seconds of one long poll; the API allows 30.
POLL_S = 25
MOVING = ("queued", "processing")
ENDED = ("completed", "rejected", "error", "cancelled")
TRIES = 4
# Seconds until a stream of events that ended early is opened again.
AGAIN_S = 1
LONGEST_PAUSE_S = 30.0

Recording = bytes | Path
Action = Literal["approve", "correct", "reject"]


@dataclass(frozen=True)
class Call:
    """One request. `repeatable`: to send it twice is to send it once."""

    method: str
    path: str
    sent: dict[str, Any] = field(default_factory=dict)
    repeatable: bool = True


def create(what: str | Recording, key: str | None, confirm: bool, **fields: Any) -> Call:
    """`POST /v1/orders`."""
    if isinstance(what, str):
        return _said("/v1/orders", what, key, confirm=confirm, **fields)
    if (metadata := fields.get("metadata")) is not None:
        fields["metadata"] = json.dumps(metadata)
    return _said("/v1/orders", what, key, confirm="true" if confirm else "false", **fields)


def say(order: Order, what: str | Recording, key: str | None) -> Call:
    """`POST …/utterances`."""
    return _said(f"/v1/orders/{order.id}/utterances", what, key)


def _said(path: str, what: str | Recording, key: str | None, **fields: Any) -> Call:
    """Text as JSON, a recording as a file; with a key, so that it is stored once."""
    sent: dict[str, Any] = {"headers": {"Idempotency-Key": key or uuid.uuid4().hex}}
    if isinstance(what, str):
        return Call("POST", path, sent | {"json": _given(transcript=what, **fields)})
    # The API looks at the first bytes, not at the name, which only says that this is a file.
    file = {"audio": ("order", what.read_bytes() if isinstance(what, Path) else what)}
    return Call("POST", path, sent | {"data": _given(**fields), "files": file})


def poll(order: Order, end: float) -> Call | None:
    """`GET /v1/orders/{id}?wait=…`; None once it is settled. `end`: by the monotonic clock."""
    if order.status not in MOVING:
        return None
    if (left_s := end - time.monotonic()) <= 0:
        raise NotSettled(f"Order {order.id} is still {order.status}.")
    return Call("GET", f"/v1/orders/{order.id}", {"params": {"wait": min(left_s, POLL_S)}})


def answer(order: Order, choice: Choice | str) -> Call:
    """`POST …/answer`; raises ValueError where nothing is asked."""
    if order.question is None:
        raise ValueError(f"Order {order.id} has no question.")
    body = {"question": order.question.id, "answer": choice if isinstance(choice, str) else choice.id}
    return Call("POST", f"/v1/orders/{order.id}/answer", {"json": body}, repeatable=False)


def confirm(order: Order, cart: CartDraft | None) -> Call:
    """`POST …/confirm`: yes to the cart and total as read, or to a changed `cart`."""
    total = order.cart.total if order.cart and cart is None else None
    body = _given(version=order.version, total=total, cart=cart and cart.model_dump())
    return Call("POST", f"/v1/orders/{order.id}/confirm", {"json": body}, repeatable=False)


def decide(review: ReviewDetail, action: Action, cart: CartDraft | None, reason: str | None) -> Call:
    """`POST /v1/reviews/{id}/decision`, on the version that was read."""
    body = _given(version=review.version, action=action, cart=cart and cart.model_dump(), reason=reason)
    return Call("POST", f"/v1/reviews/{review.id}/decision", {"json": body}, repeatable=False)


def pause_s(call: Call, error: Exception, tries: int) -> float:
    """Return how long to wait before `call` is sent again; raises where it should not be, or not so soon."""
    if isinstance(error, ProblemError):
        again, asked = error.retryable, error.retry_after_s
    else:  # it may have happened, unless there was no connection
        again, asked = call.repeatable or isinstance(error, httpx.ConnectError), None
        error = Unreachable(str(error) or type(error).__name__)
    pause = 2 ** (tries - 1) * random.uniform(0.5, 1) if asked is None else asked  # noqa: S311 (no secret)
    if not again or tries >= TRIES or pause > LONGEST_PAUSE_S:
        raise error
    return pause


def _given(**body: Any) -> dict[str, Any]:
    return {name: value for name, value in body.items() if value is not None}
