"""Accepting an order, in the one order of steps that loses nothing and leaves nothing.

0. Too much waits already, or the key is in use right now: refused (`pressure.py`), and no body is read.
1. The form is read into a temporary file (`uploads.py`), and everything about the request is checked.
2. fsync and rename, or a put into the bucket: the recording is durable under our own id.
3. One transaction: the order and its idempotency row.
4. 202. Only then the doorbell rings; with Redis down, the sweeper finds the order later.

A failure between 2 and 3 removes the recording again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

import anyio
import structlog
from fastapi import Request
from starlette.concurrency import run_in_threadpool

from infra.observability import tracing
from schemas.errors import InputError, NotFound, UnknownMenu
from schemas.order import TextOrder, TextUtterance
from schemas.records.menus import MenuVersion
from schemas.records.orders import Idempotency, NewOrder, OrderRecord, StoredUtterance
from schemas.shape import METADATA, faults
from schemas.shops.source import PAGE, source_of
from schemas.transcript import Transcript
from services.api import uploads
from services.api.deps import address
from services.api.gate.bodies import declared_length, media_type, parse_json, read_model
from services.api.gate.pressure import Pressure, page_client
from services.api.gate.rates import Payer, rates_of
from services.api.problems import RequestRefused, invalid
from services.recordings import delete_unused, new_recording
from services.shop_scope import ShopScope
from services.transcription.audio.containers import Container

log = structlog.get_logger(__name__)

MAX_KEY_CHARS = 200
MAX_TEXT_BYTES = 20_000
"""Of an order that comes as text: its words and the caller's note take 16,000 bytes at most, in UTF-8."""
NAMED = 10  # menus to choose from, where none was named


@dataclass(frozen=True, slots=True)
class Accepted:
    """An order that is stored. `created` is False when an idempotency key brought back an earlier one."""

    order: OrderRecord
    created: bool


@dataclass(frozen=True, slots=True)
class Caller:
    """Whose order it is: `backlog` is what it counts for, `keys` the space of its Idempotency-Keys, and
    `confirm` whether its customer always says yes to the cart before it is completed."""

    backlog: str
    keys: str
    confirm: bool = False


def by_key(box: ShopScope) -> Caller:
    """An integration, by its key."""
    return Caller(backlog=box.access.actor, keys=box.access.actor)


def by_page(request: Request, box: ShopScope, visitor: str) -> Caller:
    """A customer at the order page; `visitor` is the browser's random name, with keys of its own."""
    backlog = page_client(box.access.actor, address(request), visitor)
    return Caller(backlog=backlog, keys=f"page:{visitor}", confirm=True)


async def accept(request: Request, box: ShopScope, caller: Caller) -> Accepted:
    """Take in whatever `POST /v1/orders` carries.

    Raises:
        InputError: a tree of refusals (4xx), nothing stored.
        Overloaded: too many orders wait (503), nothing stored.
        StorageUnavailable: database or disk (503), nothing stored.
    """
    spoken = _is_spoken(request)
    async with _admitted(request, box, caller) as key:
        if not spoken:
            return await _typed(box, key, await read_model(request, TextOrder, MAX_TEXT_BYTES), caller)
        async with _received(request, box, caller) as upload:
            asked = {name: value for name, value in upload.fields.items() if value}
            text = asked.get("metadata")
            metadata = None if text is None else _metadata(text)
            menu = await run_in_threadpool(_find_menu, box, asked.get("menu"), asked.get("language"))
            new = _new(menu, caller, metadata, confirm=asked.get("confirm") == "true")
            new = replace(new, audio_format=upload.audio_format)
            body = asked | {"metadata": metadata, "audio": upload.writer.sha256}
            return await run_in_threadpool(_keep, box, upload, new, _idempotency(caller, key, body))


async def accept_utterance(
    request: Request, box: ShopScope, order_id: str, caller: Caller, text: TextUtterance | None = None
) -> Accepted:
    """Take in what `POST /v1/orders/{id}/utterances` carries, or `text`.

    Raises: as `accept` and the order store's `add`.
    """
    spoken = text is None and _is_spoken(request)
    async with _admitted(request, box, caller) as key:
        if not spoken:
            text = text or await read_model(request, TextUtterance, MAX_TEXT_BYTES)
            body = {"order": order_id, "transcript": text.transcript}
            return await run_in_threadpool(
                _add, box, order_id, text.transcript, _idempotency(caller, key, body)
            )
        async with _received(request, box, caller, uploads.NO_FIELDS) as upload:
            body = {"order": order_id, "audio": upload.writer.sha256}
            return await run_in_threadpool(_add, box, order_id, upload, _idempotency(caller, key, body))


def _is_spoken(request: Request) -> bool:
    """Whether the request carries a recording. Raises RequestRefused if neither that nor JSON."""
    kind = media_type(request)
    if kind not in ("multipart/form-data", "application/json"):
        raise RequestRefused(
            "unsupported_media_type",
            415,
            f"Send it as multipart/form-data or application/json, not {kind or 'nothing'!r}.",
        )
    return kind == "multipart/form-data"


@asynccontextmanager
async def _received(
    request: Request, box: ShopScope, caller: Caller, caps: Mapping[str, int] = uploads.FIELD_CAPS
) -> AsyncIterator[uploads.Upload]:
    """The request's upload, counted; removed again unless the block has committed it."""
    rates, payers = rates_of(request), _space(box.shop, caller.backlog)
    await rates.check(*payers, cost=declared_length(request) or 1)
    with tracing.span("receive recording"):
        begin = partial(new_recording, box.blobs, box.settings)
        upload = await uploads.receive(request, begin, box.settings.max_upload_bytes, caps)
    try:
        await rates.count(*payers, cost=upload.writer.size)
        yield upload
    except BaseException:
        # Does nothing after the commit; shielded, because a cancelled request must not leave its file.
        with anyio.CancelScope(shield=True):
            await run_in_threadpool(upload.writer.discard)
        raise


def _space(shop: str, client: str) -> list[Payer]:
    """Whose space a recording takes: a page's leaves some to the shop's keys, an address some to others."""
    if not client.startswith(PAGE):
        return [("shop_recordings", shop)]
    address = f"{shop} {source_of(client)}"
    return [("address_recordings", address), ("page_recordings", shop), ("shop_recordings", shop)]


def _keep(box: ShopScope, upload: uploads.Upload, new: NewOrder, idempotency: Idempotency | None) -> Accepted:
    """The recording and then its order, in one visit to a thread: each waits for the interpreter twice."""
    return _store(box, replace(new, audio_key=_committed(upload)), idempotency)


def _committed(upload: uploads.Upload) -> str:
    with tracing.span("store recording"), uploads.disk():
        return upload.writer.commit(Container(upload.audio_format).media_type)


def _add(
    box: ShopScope, order_id: str, given: uploads.Upload | str, idempotency: Idempotency | None
) -> Accepted:
    """The recording if it is one, and then the order with the utterance."""
    language, now = box.orders.get(order_id).language, datetime.now(UTC)
    if isinstance(given, str):
        transcript = Transcript(text=given, confidence=1.0, language=language)
        new = StoredUtterance(kind="text", at=now, transcript=transcript)
    else:
        key, form = _committed(given), given.audio_format
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


async def accept_text(request: Request, box: ShopScope, text: TextOrder, caller: Caller) -> Accepted:
    """Take in an order that came as text; errors as in `accept`."""
    async with _admitted(request, box, caller) as key:
        return await _typed(box, key, text, caller)


@asynccontextmanager
async def _admitted(request: Request, box: ShopScope, caller: Caller) -> AsyncIterator[str | None]:
    """Let in by `pressure.py` for the block; gives the idempotency key, checked."""
    key = idempotency_key(request)
    pressure: Pressure = request.app.state.pressure
    with tracing.span("accept", {"saycart.shop": box.shop}):
        async with pressure.admitted(box.shop, caller.backlog, caller.keys, key):
            yield key


async def _typed(box: ShopScope, key: str | None, text: TextOrder, caller: Caller) -> Accepted:
    if found := faults(text.metadata, METADATA, "/metadata"):
        raise invalid(found)
    menu = await run_in_threadpool(_find_menu, box, text.menu)
    transcript = Transcript(text=text.transcript, confidence=1.0, language=menu.menu.language)
    new = replace(_new(menu, caller, text.metadata, confirm=text.confirm), transcript=transcript)
    # As a release that does not know `confirm` has it, so that a key stands across an upgrade.
    body = text.model_dump(exclude=set() if text.confirm else {"confirm"})
    return await run_in_threadpool(_store, box, new, _idempotency(caller, key, body))


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


def idempotency_key(request: Request) -> str | None:
    """The Idempotency-Key header.

    Raises:
        RequestRefused: it is not 1 to 200 visible ASCII characters.
    """
    key = request.headers.get("idempotency-key")
    if key is None or (0 < len(key) <= MAX_KEY_CHARS and all("!" <= c <= "~" for c in key)):
        return key
    sentence = f"must be 1 to {MAX_KEY_CHARS} visible ASCII characters"
    raise invalid([("/header/Idempotency-Key", sentence)])


def _idempotency(caller: Caller, key: str | None, body: dict[str, Any]) -> Idempotency | None:
    """`body`: what the caller asked for, before any default is filled in."""
    if key is None:
        return None
    digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
    return Idempotency(client=caller.keys, key=key, body_hash=digest)


def _metadata(text: str) -> dict[str, Any]:
    try:
        document = parse_json(text, METADATA, "/metadata")
    except ValueError as error:
        raise invalid([("/metadata", f"is {error}")]) from None
    if not isinstance(document, dict):
        raise invalid([("/metadata", "must be a JSON object")])
    return document
