"""The client, `Saycart(key).order("a latte", menu="cafe").wait()`, and the same for asyncio."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from typing import Any, Self

import httpx

from saycart_client.core import MOVING, TIMEOUT, URL, BaseOrder, BaseSaycart, order_in, pause_s
from saycart_client.errors import SaycartError


class LiveOrder(BaseOrder["LiveOrder"]):
    """An order with its methods, see also `BaseOrder`."""

    def wait(self, timeout_s: float = 120) -> LiveOrder:
        """Wait until it has ended, or is waiting for its customer or the staff; raises NotSettled."""
        order, end = self, time.monotonic() + timeout_s
        while order.status in MOVING:
            order = order._poll(end)
        return order


class Saycart(BaseSaycart[LiveOrder]):
    """The client of one shop, see `BaseSaycart`."""

    def __init__(self, key: str, url: str = URL, *, http: httpx.Client | None = None) -> None:
        """Pass your own `http` client to set a proxy or certificates."""
        self._http = http or httpx.Client(timeout=TIMEOUT)
        self._http.base_url = httpx.URL(url)
        self._http.headers["Authorization"] = f"Bearer {key}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def _send(self, method: str, path: str, *, repeatable: bool = True, **content: Any) -> LiveOrder:
        tries = 0
        while True:
            tries += 1
            try:
                return order_in(self._http.request(method, path, **content), LiveOrder, self)
            except (SaycartError, httpx.TransportError) as error:
                time.sleep(pause_s(error, tries, repeatable))


class AsyncLiveOrder(BaseOrder[Coroutine[Any, Any, "AsyncLiveOrder"]]):
    """See `LiveOrder`."""

    async def wait(self, timeout_s: float = 120) -> AsyncLiveOrder:
        order, end = self, time.monotonic() + timeout_s
        while order.status in MOVING:
            order = await order._poll(end)
        return order


class AsyncSaycart(BaseSaycart[Coroutine[Any, Any, AsyncLiveOrder]]):
    """See `Saycart`."""

    def __init__(self, key: str, url: str = URL, *, http: httpx.AsyncClient | None = None) -> None:
        self._http = http or httpx.AsyncClient(timeout=TIMEOUT)
        self._http.base_url = httpx.URL(url)
        self._http.headers["Authorization"] = f"Bearer {key}"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def _send(
        self, method: str, path: str, *, repeatable: bool = True, **content: Any
    ) -> AsyncLiveOrder:
        tries = 0
        while True:
            tries += 1
            try:
                return order_in(await self._http.request(method, path, **content), AsyncLiveOrder, self)
            except (SaycartError, httpx.TransportError) as error:
                await asyncio.sleep(pause_s(error, tries, repeatable))
