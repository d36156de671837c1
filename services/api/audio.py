"""`/v1/orders/{id}/audio`: the recording that an order came from, whole or by range, as it was sent."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import FileResponse, Response

from schemas.errors import NotFound, RecordingLost
from services.api.access import ReadsOrders
from services.desk import Desk
from services.engines.containers import Container

router = APIRouter(prefix="/v1/orders", tags=["orders"])

_SOUND = {"content": {"audio/*": {}}, "description": "the recording, as it was sent"}


@router.get(
    "/{order_id}/audio",
    response_class=Response,
    responses={200: _SOUND, 206: _SOUND | {"description": "the range that was asked for"}},
)
def audio(order_id: str, box: ReadsOrders) -> Response:
    """The order's own recording. 404 for an order that came as text. Takes `Range`."""
    return recording(box, order_id)


def recording(box: Desk, order_id: str) -> Response:
    """As the route; for the pages, which have addresses of their own for it."""
    order = box.orders.get(order_id)
    if order.audio_key is None or order.audio_format is None:
        raise NotFound("This order came as text and has no recording.")
    file = box.blobs.path(order.audio_key)
    if not file.is_file():
        raise RecordingLost("The recording of this order can't be found.")
    return FileResponse(
        file,
        media_type=Container(order.audio_format).media_type,
        # A recording never changes; it is one customer's voice, so no shared cache may keep it.
        headers={"Cache-Control": "private, max-age=3600", "Content-Disposition": "inline"},
    )
