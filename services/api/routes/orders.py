"""`/v1/orders`: create, add to, read (with long poll), list, answer, confirm, cancel, take, erase."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response

from schemas.errors import Conflict, IdempotencyMismatch, StaleState
from schemas.lifecycle import SETTLED, STATUS, TERMINAL, State
from schemas.order import CONFIRM, Confirmation, Order, OrderPage, TextOrder, TextUtterance
from schemas.question import CustomerAnswer
from schemas.records.orders import OrderRecord
from schemas.records.reviews import ReviewRecord
from services.api import present
from services.api.deps import Cursor, Limit, disconnected, matches
from services.api.gate.access import Administers, ReadsOrders, WritesOrders
from services.api.gate.bodies import body, ref
from services.api.intake import accept, accept_utterance
from services.api.problems import CONFLICT, conflict, invalid
from services.api.receiving import Accepted, by_key
from services.api.waiting.bell import Bell
from services.api.waiting.watch import Waiting
from services.shop_scope import ShopScope
from services.storage.orders.watched import Look

router = APIRouter(prefix="/v1/orders", tags=["orders"])

MAX_WAIT_S = 30.0
# Seconds before the first poll; a short order takes about this long.
RETRY_AFTER_S = 1

_STATUSES = tuple(dict.fromkeys(STATUS.values()))
_AUDIO = {
    "type": "string",
    "format": "binary",
    "description": "WAV, FLAC, Ogg/Opus, MP3, M4A or WebM; its first bytes decide, not its name",
}
_FIELDS = {
    "menu": {"type": "string", "description": "optional if there is only one menu"},
    "language": {"type": "string", "description": "the menu's language, or its prefix"},
    "metadata": {"type": "string", "description": "any JSON object, up to 8000 bytes"},
    "confirm": {"type": "string", "enum": ["true", "false"], "description": CONFIRM},
}


def _spoken_or(text: type[BaseModel], fields: dict[str, Any]) -> dict[str, Any]:
    """Return the OpenAPI of a call that takes a recording with `fields`, or JSON."""
    spoken = {
        "type": "object",
        "required": ["audio"],
        "additionalProperties": False,
        "properties": {"audio": _AUDIO, **fields},
    }
    key = {
        "name": "Idempotency-Key",
        "in": "header",
        "schema": {"type": "string", "pattern": "^[!-~]{1,200}$"},
        "description": "the same key and body return the first request's order",
    }
    content = {"multipart/form-data": {"schema": spoken}, "application/json": {"schema": ref(text)}}
    return {"parameters": [key], "requestBody": {"required": True, "content": content}}


def with_review(box: ShopScope, record: OrderRecord) -> tuple[OrderRecord, ReviewRecord | None]:
    """Return the order with its review, if the review is shown."""
    return record, box.reviews.by_order(record.id) if _reviewed(record) else None


def _reviewed(record: OrderRecord) -> bool:
    """Return True if the order is or was in review."""
    return record.state is State.IN_REVIEW or bool(record.reasons)


def read(box: ShopScope, order_id: str) -> tuple[OrderRecord, ReviewRecord | None]:
    return with_review(box, box.orders.get(order_id))


def _shown_of(look: Look) -> tuple[OrderRecord, ReviewRecord | None]:
    return look.order, look.review if _reviewed(look.order) else None


def shown(
    record: OrderRecord, review: ReviewRecord | None, status: int = 200, **headers: str
) -> JSONResponse:
    return JSONResponse(
        present.order(record, review).model_dump(mode="json", by_alias=True),
        status_code=status,
        headers={
            "ETag": present.order_etag(record, review),
            "Cache-Control": "no-cache",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        },
    )


_REFUSALS: dict[int | str, dict[str, Any]] = {
    429: {"description": "too many of this client's orders are waiting"},
    503: {"description": "too many orders are waiting, or they can't be stored right now"},
    507: {"description": "the disk is full"},
}


@router.post(
    "",
    status_code=202,
    response_model=Order,
    openapi_extra=_spoken_or(TextOrder, _FIELDS),
    responses=_REFUSALS,
)
async def create_order(request: Request, box: WritesOrders) -> Response:
    """Create an order. With 202 it is stored; `Location` is where to follow it."""
    return await _followed(request, box, await accept(request, box, by_key(box)))


@router.post(
    "/{order_id}/utterances",
    status_code=202,
    response_model=Order,
    openapi_extra=_spoken_or(TextUtterance, {}),
    responses=_REFUSALS | CONFLICT,
)
async def add_utterance(order_id: str, request: Request, box: WritesOrders) -> Response:
    """Add an utterance to an order. The cart is decoded again from all utterances, `changed` lists the
    differences, and the customer has to confirm it. 409 if the order is confirmed, has ended, is in review or
    has 10 utterances."""
    try:
        accepted = await accept_utterance(request, box, order_id, by_key(box))
    except IdempotencyMismatch:
        raise
    except Conflict as error:
        now = await run_in_threadpool(read, box, order_id)
        raise conflict(error, order=present.order(*now)) from None
    return await _followed(request, box, accepted)


async def _followed(request: Request, box: ShopScope, accepted: Accepted) -> Response:
    """Return the response for a stored order or utterance; the workers are notified after it."""
    record, review = accepted.order, None
    if not accepted.created:  # a repeated key; the order may be in review by now
        record, review = await run_in_threadpool(with_review, box, record)
    answer = shown(record, review, 202, Location=f"/v1/orders/{record.id}", Retry_After=str(RETRY_AFTER_S))
    if accepted.created:
        # After the response: the order is stored, even if the queue is down.
        bell: Bell = request.app.state.bell
        answer.background = BackgroundTask(bell.ring, box.doorbell, record.id, record.state)
    else:
        answer.headers["Idempotency-Replayed"] = "true"
    return answer


@router.get("/{order_id}", response_model=Order, responses={304: {"description": "unchanged"}})
async def get_order(
    order_id: str,
    request: Request,
    box: ReadsOrders,
    wait: Annotated[float, Query(ge=0, le=MAX_WAIT_S, description="seconds to wait for it to finish")] = 0,
) -> Response:
    """Get an order, or wait for it. With `wait`, returns once the order is settled, or after that time.

    With `If-None-Match` and `wait`, returns at the first change, or 304.
    """
    conditional = "if-none-match" in request.headers

    def known(record: OrderRecord, review: ReviewRecord | None) -> bool:
        return conditional and matches(request, present.order_etag(record, review))

    def done(look: Look) -> bool:
        if look.order.state in TERMINAL:
            return True
        return not known(*_shown_of(look)) if conditional else look.order.state in SETTLED

    if wait:
        waiting: Waiting = request.app.state.waiting
        look = await waiting.until(box.shop, order_id, done, wait, lambda: disconnected(request))
        record, review = _shown_of(look)
    else:
        record, review = await run_in_threadpool(read, box, order_id)
    if known(record, review):
        return Response(status_code=304, headers={"ETag": present.order_etag(record, review)})
    return shown(record, review)


@router.get("", response_model=OrderPage)
def list_orders(
    box: ReadsOrders,
    status: Annotated[str | None, Query(json_schema_extra={"enum": list(_STATUSES)})] = None,
    cursor: Cursor = None,
    limit: Limit = 20,
) -> OrderPage:
    """List orders. Newest first."""
    if status is not None and status not in _STATUSES:
        raise invalid([("/query/status", f"must be one of {', '.join(_STATUSES)}")])
    records, next_cursor = box.orders.page(status=status, cursor=cursor, limit=limit)
    return OrderPage(
        orders=[present.order(*with_review(box, record)) for record in records], next_cursor=next_cursor
    )


@router.post("/{order_id}/confirm", response_model=Order, responses=CONFLICT)
def confirm_order(
    order_id: str, box: WritesOrders, given: Annotated[Confirmation, Depends(body(Confirmation))]
) -> Response:
    """Confirm an order. The customer accepts the cart at the `version` that they saw, or sends their own
    `cart`, which completes an order that `needs_confirmation`."""
    return _changed(box, order_id, lambda: box.confirm_order(order_id, given))


@router.post("/{order_id}/answer", response_model=Order, responses=CONFLICT)
def answer_order(
    order_id: str, box: WritesOrders, given: Annotated[CustomerAnswer, Depends(body(CustomerAnswer))]
) -> Response:
    """Answer an order's question. The last answer completes the order, or leads to `needs_confirmation` if
    the customer has to confirm the cart."""
    return _changed(box, order_id, lambda: box.answer_order(order_id, given))


@router.post("/{order_id}/cancel", response_model=Order, responses=CONFLICT)
def cancel_order(order_id: str, box: WritesOrders) -> Response:
    """Cancel an order. Idempotent. A completed order can be cancelled for SAYCART_CANCEL_COMPLETED_S seconds
    unless the shop has taken it; 409 for any other that has ended."""
    return _changed(box, order_id, lambda: box.cancel_order(order_id))


@router.post("/{order_id}/taken", response_model=Order, responses=CONFLICT)
def take_order(order_id: str, box: WritesOrders) -> Response:
    """Take an order. The shop starts making it, so it can't be cancelled any more. Idempotent."""
    return _changed(box, order_id, lambda: box.orders.take(order_id))


@router.delete("/{order_id}/data", response_model=Order, responses=CONFLICT)
def erase_order(order_id: str, box: Administers) -> Response:
    """Erase an order's data. Deletes recording, words and metadata; the priced lines stay. Idempotent. 409
    while the order is in progress or waits for a person."""
    return _changed(box, order_id, lambda: box.erase_order(order_id))


def _changed(box: ShopScope, order_id: str, change: Callable[[], object]) -> Response:
    """Run a change; add the current order to a conflict."""
    try:
        change()
    except (Conflict, StaleState) as error:
        raise conflict(error, order=present.order(*read(box, order_id))) from None
    return shown(*read(box, order_id))
