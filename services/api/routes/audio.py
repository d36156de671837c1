"""`/v1/orders/{id}/audio`: an order's recording, whole or by range."""

from __future__ import annotations

import re
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.datastructures import Headers
from starlette.responses import FileResponse, Response
from starlette.types import Receive, Scope, Send

from schemas.errors import NotFound, RecordingRemoved
from schemas.order import MAX_UTTERANCES
from services.api.gate.access import ReadsOrders
from services.recordings import local_recording
from services.shop_scope import ShopScope
from services.transcription.audio.containers import AudioContainer

router = APIRouter(prefix="/v1/orders", tags=["orders"])

_SOUND = {
    "content": {"audio/*": {}},
    "description": "the recording: the upload, or its sound as FLAC",
}
# A customer's voice, deleted when the order is cancelled, so no cache may keep it.
_HEADERS = {"Cache-Control": "private, no-cache", "Content-Disposition": "inline"}
Number = Annotated[
    int | None,
    Query(
        ge=0, lt=MAX_UTTERANCES, description="number of the utterance, from 0; without it the newest one's"
    ),
]


_RANGE = re.compile(r"bytes=(?:(\d{1,18})-(\d{0,18})|-0*[1-9]\d{0,17})", re.ASCII | re.IGNORECASE)


class Played(FileResponse):
    """A recording, whole or one range of it; its local file is released after the response."""

    def __init__(self, held: AbstractContextManager[Path], media_type: str, etag: str) -> None:
        """`etag` identifies the recording, which never changes. Raises as `read_errors`."""
        self._held = ExitStack()
        path = self._held.enter_context(held)
        headers = _HEADERS | {"ETag": etag}
        super().__init__(path, media_type=media_type, headers=headers, stat_result=path.stat())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        match = _RANGE.fullmatch(Headers(scope=scope).get("range", ""))
        end = int(self.headers["content-length"]) - 1
        if match is None or int(match[1] or 0) > min(int(match[2] or end), end):
            # Several ranges, one beyond the end, or an invalid one: ignore it and send everything.
            scope["headers"] = [(name, value) for name, value in scope["headers"] if name != b"range"]
        with self._held:
            await super().__call__(scope, receive, send)


@router.get(
    "/{order_id}/audio",
    response_class=Response,
    responses={200: _SOUND, 206: _SOUND | {"description": "the requested range"}},
)
def get_recording(order_id: str, box: ReadsOrders, utterance: Number = None) -> Response:
    """Get an order's recording. 404 if the order was sent as text, or if its recording was deleted because it
    was cancelled or unplayable. Supports `Range` with one range."""
    return recording(box, order_id, utterance)


def recording(box: ShopScope, order_id: str, utterance: int | None = None) -> Response:
    """As the route; for the pages, which have URLs of their own for it."""
    order = box.orders.get(order_id)
    key, form = order.audio_key, order.audio_format
    if utterance is not None:
        chosen = dict(enumerate(order.all_utterances)).get(utterance)
        key, form = (chosen.audio_key, chosen.audio_format) if chosen else (None, None)
    if form is None:
        raise NotFound("This order was sent as text and has no recording.")
    if key is None:
        raise RecordingRemoved("The recording of this order was deleted.")
    return Played(local_recording(box.blobs, key), AudioContainer(form).media_type, f'"{key}"')
