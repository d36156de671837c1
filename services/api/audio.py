"""`/v1/orders/{id}/audio`: the recording that an order came from, whole or by range, as it was sent."""

from __future__ import annotations

import os
from typing import IO

from fastapi import APIRouter
from starlette.responses import FileResponse, Response
from starlette.types import Receive, Scope, Send

from schemas.errors import NotFound, RecordingLost, RecordingRemoved
from services.api.access import ReadsOrders
from services.desk import Desk
from services.engines.containers import Container

router = APIRouter(prefix="/v1/orders", tags=["orders"])

_SOUND = {"content": {"audio/*": {}}, "description": "the recording, as it was sent"}


class Opened(FileResponse):
    """A file that is open already: it is sent to its end even if it is removed meanwhile."""

    def __init__(self, file: IO[bytes], media_type: str, headers: dict[str, str]) -> None:
        number = file.fileno()
        super().__init__(
            f"/dev/fd/{number}", media_type=media_type, headers=headers, stat_result=os.fstat(number)
        )
        self._file = file

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._file:
            await super().__call__(scope, receive, send)


@router.get(
    "/{order_id}/audio",
    response_class=Response,
    responses={200: _SOUND, 206: _SOUND | {"description": "the range that was asked for"}},
)
def audio(order_id: str, box: ReadsOrders) -> Response:
    """The order's own recording. 404 for an order that came as text, or whose recording was removed: with
    its cancellation, or since nobody can hear it. Takes `Range`."""
    return recording(box, order_id)


def recording(box: Desk, order_id: str) -> Response:
    """As the route; for the pages, which have addresses of their own for it."""
    order = box.orders.get(order_id)
    if order.audio_format is None:
        raise NotFound("This order came as text and has no recording.")
    if order.audio_key is None:
        raise RecordingRemoved("The recording of this order was removed.")
    try:
        file = box.blobs.path(order.audio_key).open("rb")
    except FileNotFoundError:
        raise RecordingLost("The recording of this order can't be found.") from None
    return Opened(
        file,
        Container(order.audio_format).media_type,
        # It is one customer's voice, and gone once the order is cancelled: no cache may keep it.
        {"Cache-Control": "private, no-cache", "Content-Disposition": "inline"},
    )
