"""Accept an order or an utterance so that a crash loses no order and leaves no orphaned recording.

0. Refuse the request before reading its body if too much is waiting (`pressure.py`).
1. Read the form into a temporary file (`uploads.py`) and validate the request.
2. Store the recording under our own id: fsync and rename, or a put into the bucket.
3. Store the order and its idempotency row in one transaction.
4. Answer 202, then ring the doorbell. If Redis is down, the sweeper finds the order later.

If step 3 fails, the recording is deleted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import structlog
from fastapi import Request
from starlette.concurrency import run_in_threadpool

from infra.observability import tracing
from schemas.errors import InputError, NotFound, UnknownMenu
from schemas.menu import MenuVersion
from schemas.order import TextOrder, TextUtterance
from schemas.records.orders import NewOrder, OrderRecord, StoredUtterance
from schemas.shape import METADATA_BYTES, faults
from schemas.transcript import Transcript
from services.api.gate.bodies import parse_json
from services.api.problems import invalid
from services.api.receiving import Accepted, Caller, committed, idempotency_of, received
from services.api.uploads import FIELD_CAPS, NO_FIELDS, Upload
from services.recordings import delete_unused
from services.shop_scope import ShopScope

log = structlog.get_logger(__name__)

LISTED_MENUS = 10  # listed in the error if a request names no menu


async def accept(request: Request, box: ShopScope, caller: Caller, text: TextOrder | None = None) -> Accepted:
    """Store the order in the body of `POST /v1/orders`, or `text`. After an error nothing is stored.

    Raises:
        InputError: the request is refused (4xx).
        Overloaded: too many orders are waiting (503).
        StorageUnavailable: database or disk (503).
    """
    async with received(request, box, caller, TextOrder, FIELD_CAPS, text) as (key, sent):
        return await run_in_threadpool(_order, box, caller, key, sent)


async def accept_utterance(
    request: Request, box: ShopScope, order_id: str, caller: Caller, text: TextUtterance | None = None
) -> Accepted:
    """Store the utterance in the body of `POST /v1/orders/{id}/utterances`, or `text`.

    Raises: as `accept` and the order store's `add`.
    """
    async with received(request, box, caller, TextUtterance, NO_FIELDS, text) as (key, sent):
        return await run_in_threadpool(_utterance, box, order_id, caller, key, sent)


def _order(box: ShopScope, caller: Caller, key: str | None, sent: TextOrder | Upload) -> Accepted:
    """Store the recording and its order, in a single switch to a thread."""
    if isinstance(sent, Upload):
        body: dict[str, Any] = {name: value for name, value in sent.fields.items() if value}
        menu = _find_menu(box, body.get("menu"), body.get("language"))
        body["metadata"] = metadata = _metadata(body.get("metadata"))
        body["audio"], confirm = sent.writer.sha256, body.get("confirm") == "true"
    else:
        if problems := faults(sent.metadata, "/metadata", METADATA_BYTES):
            raise invalid(problems)
        menu = _find_menu(box, sent.menu)
        body, metadata, confirm = sent.model_dump(), sent.metadata, sent.confirm
    idempotency = idempotency_of(caller, key, body)
    new = NewOrder(
        menu_id=menu.menu.id,
        menu_version=menu.version,
        language=menu.menu.language,
        metadata=metadata,
        confirm=confirm or (caller.confirm and not box.shops.get(box.shop).accepts.at_once),
        client=caller.backlog,
        traceparent=tracing.current_traceparent(),
    )
    if isinstance(sent, Upload):
        new = replace(new, audio_key=committed(sent), audio_format=sent.audio_format)
    else:
        new = replace(new, transcript=_transcript(sent.transcript, menu.menu.language))
    # If the commit's outcome is unknown, the order may exist. The caller got a 503 and retries, so an order
    # without its recording must end in `error`, not be made twice.
    return _stored(box, "order.accepted", new, lambda: box.orders.create(new, idempotency=idempotency))


def _utterance(
    box: ShopScope, order_id: str, caller: Caller, key: str | None, sent: TextUtterance | Upload
) -> Accepted:
    language, body = box.orders.get(order_id).language, {"order": order_id}
    if isinstance(sent, Upload):
        body["audio"] = sent.writer.sha256
        audio_key = committed(sent)
        new = StoredUtterance(
            kind="audio", at=datetime.now(UTC), audio_key=audio_key, audio_format=sent.audio_format
        )
    else:
        body["transcript"] = sent.transcript
        transcript = _transcript(sent.transcript, language)
        new = StoredUtterance(kind="text", at=datetime.now(UTC), transcript=transcript)
    idempotency = idempotency_of(caller, key, body)
    # If the commit's outcome is unknown, the order may own the recording; else the sweeper collects it.
    return _stored(
        box,
        "order.added_to",
        new,
        lambda: box.orders.add(order_id, new, idempotency=idempotency),
        keep_in_doubt=True,
    )


def _transcript(text: str, language: str) -> Transcript:
    return Transcript(text=text, confidence=1.0, language=language)


def _stored(
    box: ShopScope,
    event: str,
    new: NewOrder | StoredUtterance,
    store: Callable[[], tuple[OrderRecord, bool]],
    *,
    keep_in_doubt: bool = False,
) -> Accepted:
    """Run `store`, one transaction; delete the recording unless the order owns it."""
    owned = keep_in_doubt
    try:
        with tracing.span("store order"):
            order, owned = store()
        tracing.note({"saycart.order.id": order.id})
        log.info(event, order_id=order.id, created=owned, source=new.audio_format or "transcript")
        return Accepted(order, owned)
    except InputError:
        owned = False
        raise
    finally:
        if not owned and new.audio_key:
            delete_unused(box.blobs, new.audio_key)


def _find_menu(box: ShopScope, menu_id: str | None, language: str | None = None) -> MenuVersion:
    """Return the newest version of a menu; without `menu_id`, of the shop's only menu.

    Raises:
        UnknownMenu: no such menu.
        RequestRefused: no id was given and the shop doesn't have exactly one menu, or another `language`.
    """
    if menu_id is None:
        menus = box.menus.headers(limit=LISTED_MENUS)
        if len(menus) != 1:
            choices = ", ".join(menu.id for menu in menus) or "no menu has been imported yet"
            raise invalid([("/menu", f"is missing; choose one of: {choices}")])
        menu_id = menus[0].id
    try:
        stored = box.menus.get(menu_id)
    except NotFound:
        raise UnknownMenu(f"No menu {menu_id[:80]!r}.") from None
    own = stored.menu.language
    if language and language.lower() not in (own.lower(), own.lower().partition("-")[0]):
        raise invalid([("/language", f"the menu {menu_id} is in {own}, not {language!r}")])
    return stored


def _metadata(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        document = parse_json(text, "/metadata", METADATA_BYTES)
    except ValueError as error:
        raise invalid([("/metadata", f"is {error}")]) from None
    if not isinstance(document, dict):
        raise invalid([("/metadata", "must be a JSON object")])
    return document
