"""`/v1/orders/{id}/events`: an order's history as server-sent events, live.

`id:` is the event's number in this order, so a browser that reconnects with `Last-Event-ID` misses
nothing. The stream ends with the event that ends the order; a later reconnect gets 204, which tells an
EventSource to stop. After an error the stream ends too, and the client reconnects.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated

import structlog
from fastapi import APIRouter, Header, Request
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.responses import Response

from schemas.errors import SaycartError
from schemas.lifecycle import TERMINAL
from services.api import present
from services.api.gate.access import ReadsOrders
from services.api.problems import invalid
from services.api.waiting.watch import Waiting
from services.shop_scope import ShopScope

log = structlog.get_logger(__name__)

router = APIRouter(prefix="/v1/orders", tags=["orders"])

PING_S = 15
# Seconds for a stream to end cleanly at shutdown.
GRACE_S = 2.0
# Milliseconds an EventSource waits before it reconnects.
RECONNECT_MS = 1_000

_STREAM = {"content": {"text/event-stream": {}}, "description": "one OrderEvent in each `data:`"}


@router.get(
    "/{order_id}/events",
    response_class=Response,
    responses={200: _STREAM, 204: {"description": "the order has ended and nothing follows"}},
)
async def follow_order(
    order_id: str,
    request: Request,
    box: ReadsOrders,
    last_event_id: Annotated[
        str, Header(description="resume after this event", json_schema_extra={"pattern": "^[0-9]{0,18}$"})
    ] = "",
) -> Response:
    """Follow an order by its events. From the first, or the one after `Last-Event-ID`, to its end."""
    return await stream(request, box, order_id, last_event_id)


async def stream(request: Request, box: ShopScope, order_id: str, last_event_id: str | None) -> Response:
    """As the route; for the pages, which have a URL of their own for it."""
    after = 0
    if last_event_id:
        if not (last_event_id.isdecimal() and last_event_id.isascii() and len(last_event_id) < 19):
            raise invalid([("/header/Last-Event-ID", "must be the number of an event")])
        after = int(last_event_id)
    waiting: Waiting = request.app.state.waiting
    with waiting.on(box.shop, order_id) as watch:
        order = (await watch.look()).order
        first = await watch.happened(after)
    if not first and order.state in TERMINAL:
        return Response(status_code=204)
    return EventSourceResponse(
        _follow(waiting, box, order_id, after),
        ping=PING_S,
        shutdown_grace_period=GRACE_S,
    )


async def _follow(
    waiting: Waiting, box: ShopScope, order_id: str, after: int
) -> AsyncIterator[ServerSentEvent]:
    """Yield events until the order ends or the server stops."""
    with waiting.on(box.shop, order_id) as watch:
        while await watch.changed():
            try:
                events = await watch.happened(after)
            except SaycartError as error:
                log.warning("events.cut", order_id=order_id, code=error.code)
                return
            for stored in events:
                after = stored.seq
                shown = present.event(stored, for_customer=box.access.order is not None)
                yield ServerSentEvent(
                    data=shown.model_dump_json(), event=shown.type, id=str(shown.seq), retry=RECONNECT_MS
                )
                if stored.state in TERMINAL:
                    return
