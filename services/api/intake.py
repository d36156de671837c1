"""Accepting an order, in the one order of steps that loses nothing and leaves nothing.

0. Too much waits already, or the key is in use right now: refused (`pressure.py`), and no body is read.
1. The form is read into a temporary file (`uploads.py`), and everything about the request is checked.
2. fsync and rename, or a put into the bucket: the recording is durable under our own id.
3. One transaction: the order and its idempotency row.
4. 202. Only then the doorbell rings; with Redis down, the sweeper finds the order later.

A failure between 2 and 3 removes the recording again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import structlog
from fastapi import Request
from starlette.concurrency import run_in_threadpool

from infra.observability import tracing
from schemas.errors import NotFound, UnknownMenu
from schemas.order import TextOrder
from schemas.records.menus import MenuVersion
from schemas.records.orders import Idempotency, NewOrder
from schemas.shape import METADATA, faults
from schemas.transcript import Transcript
from services.api import uploads
from services.api.gate.bodies import parse_json, read_model
from services.api.problems import invalid
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

NAMED = 10  # menus to choose from, where none was named


async def accept(request: Request, box: ShopScope, caller: Caller) -> Accepted:
    """Take in whatever `POST /v1/orders` carries.

    Raises:
        InputError: a tree of refusals (4xx), nothing stored.
        Overloaded: too many orders wait (503), nothing stored.
        StorageUnavailable: database or disk (503), nothing stored.
    """
    spoken = is_spoken(request)
    async with admitted(request, box, caller) as key:
        if not spoken:
            return await _typed(box, key, await read_model(request, TextOrder, MAX_TEXT_BYTES), caller)
        async with received(request, box, caller) as upload:
            asked = {name: value for name, value in upload.fields.items() if value}
            text = asked.get("metadata")
            metadata = None if text is None else _metadata(text)
            menu = await run_in_threadpool(_find_menu, box, asked.get("menu"), asked.get("language"))
            new = _new(menu, caller, metadata, confirm=asked.get("confirm") == "true")
            new = replace(new, audio_format=upload.audio_format)
            body = asked | {"metadata": metadata, "audio": upload.writer.sha256}
            return await run_in_threadpool(_keep, box, upload, new, idempotency_of(caller, key, body))


def _keep(box: ShopScope, upload: uploads.Upload, new: NewOrder, idempotency: Idempotency | None) -> Accepted:
    """The recording and then its order, in one visit to a thread: each waits for the interpreter twice."""
    return _store(box, replace(new, audio_key=committed(upload)), idempotency)


async def accept_text(request: Request, box: ShopScope, text: TextOrder, caller: Caller) -> Accepted:
    """Take in an order that came as text; errors as in `accept`."""
    async with admitted(request, box, caller) as key:
        return await _typed(box, key, text, caller)


async def _typed(box: ShopScope, key: str | None, text: TextOrder, caller: Caller) -> Accepted:
    if found := faults(text.metadata, METADATA, "/metadata"):
        raise invalid(found)
    menu = await run_in_threadpool(_find_menu, box, text.menu)
    transcript = Transcript(text=text.transcript, confidence=1.0, language=menu.menu.language)
    new = replace(_new(menu, caller, text.metadata, confirm=text.confirm), transcript=transcript)
    # As a release that does not know `confirm` has it, so that a key stands across an upgrade.
    body = text.model_dump(exclude=set() if text.confirm else {"confirm"})
    return await run_in_threadpool(_store, box, new, idempotency_of(caller, key, body))


def _new(menu: MenuVersion, caller: Caller, metadata: dict[str, Any] | None, *, confirm: bool) -> NewOrder:
    return NewOrder(
        menu_id=menu.menu.id,
        menu_version=menu.version,
        language=menu.menu.language,
        metadata=metadata,
        confirm=confirm or caller.confirm,
        client=caller.backlog,
        traceparent=tracing.current_traceparent(),
    )


def _store(box: ShopScope, new: NewOrder, idempotency: Idempotency | None) -> Accepted:
    """One transaction; the recording goes again unless the order now owns it."""
    kept = False
    try:
        with tracing.span("store order"):
            order, created = box.orders.create(new, idempotency=idempotency)
        tracing.note({"saycart.order.id": order.id})
        kept = created
        log.info(
            "order.accepted", order_id=order.id, created=created, source=new.audio_format or "transcript"
        )
        return Accepted(order, created)
    finally:
        # After a commit that was cut off the order may or may not exist. The caller got a 503 and
        # sends again, so an order without its recording must end in `error`, not be made as well.
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


def _metadata(text: str) -> dict[str, Any]:
    try:
        document = parse_json(text, METADATA, "/metadata")
    except ValueError as error:
        raise invalid([("/metadata", f"is {error}")]) from None
    if not isinstance(document, dict):
        raise invalid([("/metadata", "must be a JSON object")])
    return document
