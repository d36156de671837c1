"""The asyncio client: `saycart_client.client` with awaited calls."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Coroutine
from typing import Any, Self

import httpx

from saycart_client import calls
from saycart_client.core import BaseOrder, BaseSaycart, parse_event
from saycart_client.errors import SaycartError, error_of
from saycart_client.models import OrderEvent


class AsyncLiveOrder(BaseOrder[Coroutine[Any, Any, "AsyncLiveOrder"]]):
    """See `LiveOrder`."""

    async def wait(self, timeout_s: float = 120) -> AsyncLiveOrder:
        order, end = self, time.monotonic() + timeout_s
        while call := order._poll(end):
            order = await self._client._live(call)
        return order

    async def events(self) -> AsyncIterator[OrderEvent]:
        after = tries = 0
        while True:
            call, tries = self._events(after), tries + 1
            try:
                async with self._client._http.stream(call.method, call.path, **call.sent) as response:
                    if not response.is_success:
                        await response.aread()
                        raise error_of(response)
                    async for line in response.aiter_lines():
                        tries = 1
                        if event := parse_event(line):
                            yield event
                            after = event.seq
                            if event.status in calls.ENDED:
                                return
                    if response.status_code == 204:
                        return
                await asyncio.sleep(calls.REOPEN_S)
            except (SaycartError, httpx.TransportError) as error:
                await asyncio.sleep(calls.pause_s(call, error, tries))


class AsyncSaycart(BaseSaycart[Coroutine[Any, Any, AsyncLiveOrder]]):
    """See `Saycart`."""

    def __init__(self, key: str, url: str = calls.URL, *, http: httpx.AsyncClient | None = None) -> None:
        self._http = http or httpx.AsyncClient(timeout=calls.TIMEOUT)
        self._http.base_url = httpx.URL(url)
        self._http.headers["Authorization"] = f"Bearer {key}"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def _live(self, call: calls.Call) -> AsyncLiveOrder:
        tries = 0
        while True:
            tries += 1
            try:
                response = await self._http.request(call.method, call.path, **call.sent)
                if response.is_success:
                    order = AsyncLiveOrder.model_validate_json(response.content)
                    order._client = self
                    return order
                raise error_of(response)
            except (SaycartError, httpx.TransportError) as error:
                await asyncio.sleep(calls.pause_s(call, error, tries))
