"""Taking in more that a customer says or types, in the order of steps of `intake.py`."""

from __future__ import annotations

from datetime import UTC, datetime

import structlog
from fastapi import Request
from starlette.concurrency import run_in_threadpool

from schemas.errors import InputError
from schemas.order import TextUtterance
from schemas.records.orders import Idempotency, StoredUtterance
from schemas.transcript import Transcript
from services.api import uploads
from services.api.gate.bodies import read_model
from services.api.receiving import (
    MAX_TEXT_BYTES,
    Accepted,
    Caller,
    admitted,
    committed,
    idempotency_of,
    is_spoken,
    received,
)
from services.recordings import delete_unused
from services.shop_scope import ShopScope

log = structlog.get_logger(__name__)


async def accept_utterance(
    request: Request, box: ShopScope, order_id: str, caller: Caller, text: TextUtterance | None = None
) -> Accepted:
    """Take in what `POST /v1/orders/{id}/utterances` carries, or `text`.

    Raises: as `accept` and the order store's `add`.
    """
    spoken = text is None and is_spoken(request)
    async with admitted(request, box, caller) as key:
        if not spoken:
            text = text or await read_model(request, TextUtterance, MAX_TEXT_BYTES)
            body = {"order": order_id, "transcript": text.transcript}
            return await run_in_threadpool(
                _add, box, order_id, text.transcript, idempotency_of(caller, key, body)
            )
        async with received(request, box, caller, uploads.NO_FIELDS) as upload:
            body = {"order": order_id, "audio": upload.writer.sha256}
            return await run_in_threadpool(_add, box, order_id, upload, idempotency_of(caller, key, body))


def _add(
    box: ShopScope, order_id: str, given: uploads.Upload | str, idempotency: Idempotency | None
) -> Accepted:
    """The recording if it is one, and then the order with the utterance."""
    language, now = box.orders.get(order_id).language, datetime.now(UTC)
    if isinstance(given, str):
        transcript = Transcript(text=given, confidence=1.0, language=language)
        new = StoredUtterance(kind="text", at=now, transcript=transcript)
    else:
        key, form = committed(given), given.audio_format
        new = StoredUtterance(kind="audio", at=now, audio_key=key, audio_format=form)
    kept = True
    try:
        order, kept = box.orders.add(order_id, new, idempotency=idempotency)
        log.info("order.added_to", order_id=order_id, created=kept, source=new.audio_format or "transcript")
        return Accepted(order, kept)
    except InputError:
        # Not after a commit that was cut off: the order may have it, else the sweeper collects it.
        kept = False
        raise
    finally:
        if not kept and new.audio_key:
            delete_unused(box.blobs, new.audio_key)
