"""`/v1/orders/{id}/audio`: the recording that an order came from, whole or by range."""

from __future__ import annotations

import re
from contextlib import closing

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from infra.blobs.store import Opened
from schemas.errors import NotFound, RecordingRemoved
from services.api.gate.access import ReadsOrders
from services.api.problems import RequestRefused
from services.recordings import stream_recording
from services.shop_scope import ShopScope
from services.transcription.audio.containers import Container

router = APIRouter(prefix="/v1/orders", tags=["orders"])

_SOUND = {
    "content": {"audio/*": {}},
    "description": "the recording: the upload, or its sound as FLAC",
}
_BEYOND = {"description": "the recording ends before the requested range"}
# It is one customer's voice, and gone once the order is cancelled: no cache may keep it.
_HEADERS = {"Cache-Control": "private, no-cache", "Content-Disposition": "inline"}
_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})", re.ASCII | re.IGNORECASE)


class Played(Response):
    """A recording that is sent while it is read, whole or the one range that is asked for."""

    def __init__(self, sound: Opened, media_type: str, etag: str) -> None:
        """`etag` names the recording for good: what it names never changes."""
        super().__init__(media_type=media_type, headers=_HEADERS | {"Accept-Ranges": "bytes", "ETag": etag})
        del self.headers["content-length"]
        self._sound = sound

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Raises RequestRefused for a range beyond the end, and as `read_errors` before anything is sent."""
        with closing(self._sound):
            headers, size = Headers(scope=scope), self._sound.size
            fits = headers.get("if-range") in (None, self.headers["etag"])
            span = wanted(headers.get("range", ""), size) if fits else None
            start, stop = span or (0, size)
            self.headers["Content-Length"] = str(stop - start)
            if span:
                self.headers["Content-Range"] = f"bytes {start}-{stop - 1}/{size}"
            pieces = await run_in_threadpool(stream_recording, self._sound, start, stop)
            answer = StreamingResponse(pieces, status_code=206 if span else 200)
            answer.raw_headers = self.raw_headers
            await answer(scope, receive, send)


def wanted(header: str, size: int) -> tuple[int, int] | None:
    """What a `Range` asks of `size` bytes, as (start, stop); None for the whole: no range, several, or
    one that can't be read.

    Raises:
        RequestRefused: it begins beyond the end (416).
    """
    found = _RANGE.fullmatch(header.replace(" ", ""))
    if not found or found.groups() == ("", ""):
        return None
    first, last = found.groups()
    start = int(first) if first else max(0, size - int(last))
    stop = min(int(last) + 1, size) if first and last else size
    if start >= size:
        raise RequestRefused(
            "range_not_satisfiable",
            416,
            f"The recording has {size} bytes.",
            hint="Request a range within it, or all of it.",
            headers={"Content-Range": f"bytes */{size}"},
        )
    return (start, stop) if start < stop else None


@router.get(
    "/{order_id}/audio",
    response_class=Response,
    responses={
        200: _SOUND,
        206: _SOUND | {"description": "the requested range"},
        416: _BEYOND,
    },
)
def get_recording(order_id: str, box: ReadsOrders) -> Response:
    """Get an order's recording. 404 for an order that came as text, or whose recording was removed: with
    its cancellation, or since it is unplayable. Takes `Range`, of one range."""
    return recording(box, order_id)


def recording(box: ShopScope, order_id: str) -> Response:
    """As the route; for the pages, which have addresses of their own for it."""
    order = box.orders.get(order_id)
    if order.audio_format is None:
        raise NotFound("This order was sent as text and has no recording.")
    if order.audio_key is None:
        raise RecordingRemoved("The recording of this order was deleted.")
    media_type = Container(order.audio_format).media_type
    return Played(box.recording(order.audio_key), media_type, f'"{order.audio_key}"')
