"""Accepting an order or an utterance, in the one order of steps that loses nothing and leaves nothing.

0. Too much waits already, or the key is in use right now: refused (`pressure.py`), and no body is read.
1. The form is read into a temporary file (`uploads.py`), and everything about the request is checked.
2. fsync and rename, or a put into the bucket: the recording is durable under our own id.
3. One transaction: the order and its idempotency row.
4. 202. Only then the doorbell rings; with Redis down, the sweeper finds the order later.

A failure between 2 and 3 removes the recording again.
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
from schemas.shape import METADATA, faults
from schemas.transcript import Transcript
from services.api.gate.bodies import parse_json
from services.api.problems import invalid
from services.api.receiving import Accepted, Caller, committed, idempotency_of, received
from services.api.uploads import FIELD_CAPS, NO_FIELDS, Upload
from services.recordings import delete_unused
from services.shop_scope import ShopScope

log = structlog.get_logger(__name__)

NAMED = 10  # menus to choose from, where none was named


async def accept(request: Request, box: ShopScope, caller: Caller, text: TextOrder | None = None) -> Accepted:
    """Take in whatever `POST /v1/orders` carries, or `text`.

    Raises:
        InputError: a tree of refusals (4xx), nothing stored.
        Overloaded: too many orders wait (503), nothing stored.
        StorageUnavailable: database or disk (503), nothing stored.
    """
    async with received(request, box, caller, TextOrder, FIELD_CAPS, text) as (key, sent):
        return await run_in_threadpool(_order, box, caller, key, sent)


async def accept_utterance(
    request: Request, box: ShopScope, order_id: str, caller: Caller, text: TextUtterance | None = None
) -> Accepted:
    """Take in what `POST /v1/orders/{id}/utterances` carries, or `text`.

    Raises: as `accept` and the order store's `add`.
    """
    async with received(request, box, caller, TextUtterance, NO_FIELDS, text) as (key, sent):
        return await run_in_threadpool(_utterance, box, order_id, caller, key, sent)


def _order(box: ShopScope, caller: Caller, key: str | None, sent: TextOrder | Upload) -> Accepted:
    """The recording and its order, in one visit to a thread: each waits for the interpreter twice."""
    if isinstance(sent, Upload):
        asked: dict[str, Any] = {name: value for name, value in sent.fields.items() if value}
        menu = _find_menu(box, asked.get("menu"), asked.get("language"))
        asked["metadata"] = metadata = _metadata(asked.get("metadata"))
        asked["audio"], confirm = sent.writer.sha256, asked.get("confirm") == "true"
    else:
        if found := faults(sent.metadata, METADATA, "/metadata"):
            raise invalid(found)
        menu = _find_menu(box, sent.menu)
        asked, metadata, confirm = sent.model_dump(), sent.metadata, sent.confirm
    idempotency = idempotency_of(caller, key, asked)
    new = NewOrder(
        menu_id=menu.menu.id,
        menu_version=menu.version,
        language=menu.menu.language,
        metadata=metadata,
        confirm=confirm or caller.confirm,
        client=caller.backlog,
        traceparent=tracing.current_traceparent(),
    )
    if isinstance(sent, Upload):
        new = replace(new, audio_key=committed(sent), audio_format=sent.audio_format)
    else:
        new = replace(new, transcript=_transcript(sent.transcript, menu.menu.language))
    # After a commit that was cut off the order may or may not exist. The caller got a 503 and sends again,
    # so an order without its recording must end in `error`, not be made as well.
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
    # After a commit that was cut off the order may have the recording; else the sweeper collects it.
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
    """One transaction, `store`; the recording goes again unless the order now owns it."""
    kept = keep_in_doubt
    try:
        with tracing.span("store order"):
            order, kept = store()
        tracing.note({"saycart.order.id": order.id})
        log.info(event, order_id=order.id, created=kept, source=new.audio_format or "transcript")
        return Accepted(order, kept)
    except InputError:
        kept = False
        raise
    finally:
        if not kept and new.audio_key:
            delete_unused(box.blobs, new.audio_key)


def _find_menu(box: ShopScope, menu_id: str | None, language: str | None = None) -> MenuVersion:
    """Return the newest version of the menu asked for; of the only one there is, when none was named.

    Raises:
        UnknownMenu: no such menu.
        RequestRefused: none was named and there is not exactly one, or it is in another `language`.
    """
    if menu_id is None:
        menus = box.menus.headers(limit=NAMED)
        if len(menus) != 1:
            shown = ", ".join(menu.id for menu in menus) or "no menu has been imported yet"
            raise invalid([("/menu", f"is missing; choose one of: {shown}")])
        menu_id = menus[0].id
    try:
        found = box.menus.get(menu_id)
    except NotFound:
        raise UnknownMenu(f"No menu {menu_id[:80]!r}.") from None
    own = found.menu.language
    if language and language.lower() not in (own.lower(), own.lower().partition("-")[0]):
        raise invalid([("/language", f"the menu {menu_id} is in {own}, not {language!r}")])
    return found


def _metadata(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        document = parse_json(text, METADATA, "/metadata")
    except ValueError as error:
        raise invalid([("/metadata", f"is {error}")]) from None
    if not isinstance(document, dict):
        raise invalid([("/metadata", "must be a JSON object")])
    return document
