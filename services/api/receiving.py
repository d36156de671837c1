"""Admit a request with an order or an utterance, and receive its recording."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from fastapi import Request
from pydantic import BaseModel

from infra.observability import tracing
from schemas.records.orders import Idempotency, OrderRecord
from schemas.shops.access import PAGE, source_of
from services.api import uploads
from services.api.deps import address
from services.api.gate.bodies import declared_length, media_type, read_model
from services.api.gate.pressure import Pressure, page_client
from services.api.gate.rates import Payer, rates_of
from services.api.problems import RequestRefused, invalid
from services.recordings import new_recording
from services.shop_scope import ShopScope

MAX_KEY_CHARS = 200
MAX_TEXT_BYTES = 20_000
"""Body of a text order: its words and note take at most 16,000 bytes in UTF-8."""

Text = TypeVar("Text", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Accepted:
    """A stored order; `created` is False if its idempotency key had already been used for it."""

    order: OrderRecord
    created: bool


@dataclass(frozen=True, slots=True)
class Caller:
    """The source of an order: `backlog` is the client that it counts against, `keys` the namespace of its
    Idempotency-Keys; with `confirm` its customer has to confirm the cart, unless the shop accepts
    orders at once."""

    backlog: str
    keys: str
    confirm: bool = False


def by_key(box: ShopScope) -> Caller:
    """Return the caller of an integration, identified by its key."""
    return Caller(backlog=box.access.actor, keys=box.access.actor)


def by_page(request: Request, box: ShopScope, visitor: str) -> Caller:
    """Return the caller of an order page; `visitor` is the browser's random id."""
    backlog = page_client(box.access.actor, address(request), visitor)
    return Caller(backlog=backlog, keys=f"page:{visitor}", confirm=True)


@asynccontextmanager
async def received(
    request: Request,
    box: ShopScope,
    caller: Caller,
    model: type[Text],
    caps: Mapping[str, int],
    text: Text | None = None,
) -> AsyncIterator[tuple[str | None, Text | uploads.Upload]]:
    """Yield the idempotency key and the content: a `model`, or a recording with the fields of `caps`, deleted
    unless the block commits it. `text` is content that a page's form has already sent."""
    spoken, key = text is None and _is_spoken(request), _idempotency_key(request)
    pressure: Pressure = request.app.state.pressure
    with tracing.span("accept", {"saycart.shop": box.shop}):
        await pressure.admit(box.shop, caller.backlog, caller.keys, key)
        if not spoken:
            yield key, text or await read_model(request, model, MAX_TEXT_BYTES)
            return
        async with _uploaded(request, box, caller, caps) as upload:
            yield key, upload


def _is_spoken(request: Request) -> bool:
    """Return True if the request has a recording. Raises RequestRefused if it is neither that nor JSON."""
    kind = media_type(request)
    if kind not in ("multipart/form-data", "application/json"):
        raise RequestRefused(
            "unsupported_media_type",
            415,
            f"Send it as multipart/form-data or application/json, not {kind or 'nothing'!r}.",
        )
    return kind == "multipart/form-data"


@asynccontextmanager
async def _uploaded(
    request: Request, box: ShopScope, caller: Caller, caps: Mapping[str, int]
) -> AsyncIterator[uploads.Upload]:
    rates, payers = rates_of(request), _space(box.shop, caller.backlog)
    most = box.settings.max_upload_bytes
    await rates.check(*payers, cost=declared_length(request) or most)
    begin = partial(new_recording, box.blobs, box.settings)
    async with uploads.received(request, begin, most, caps) as upload:
        await rates.count(*payers, cost=upload.writer.size)
        yield upload


def _space(shop: str, client: str) -> list[Payer]:
    """Return the limits that a recording counts for. Pages may use part of the shop's, an address less."""
    if not client.startswith(PAGE):
        return [("shop_recordings", shop)]
    address = f"{shop} {source_of(client)}"
    narrow: list[Payer] = [("address_upload", address), ("address_recordings", address)]
    return [*narrow, ("page_recordings", shop), ("shop_recordings", shop)]


def committed(upload: uploads.Upload) -> str:
    """Commit the recording and return its key in the store."""
    with tracing.span("store recording"), uploads.disk():
        return upload.writer.commit()


def _idempotency_key(request: Request) -> str | None:
    key = request.headers.get("idempotency-key")
    if key is None or (0 < len(key) <= MAX_KEY_CHARS and all("!" <= c <= "~" for c in key)):
        return key
    sentence = f"must be 1 to {MAX_KEY_CHARS} visible ASCII characters"
    raise invalid([("/header/Idempotency-Key", sentence)])


def idempotency_of(caller: Caller, key: str | None, body: dict[str, Any]) -> Idempotency | None:
    """Return the idempotency record of a request; `body` is as the caller sent it, without defaults."""
    if key is None:
        return None
    digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
    return Idempotency(client=caller.keys, key=key, body_hash=digest)
