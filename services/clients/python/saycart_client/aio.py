"""The client for asyncio: as `saycart_client.client`, with every call awaited."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any, Self

import httpx

from saycart_client import calls
from saycart_client.calls import Action, Call, Recording
from saycart_client.errors import SaycartError, refused
from saycart_client.models import CartDraft, Choice, Order, OrderEvent, ReviewDetail, ReviewPage


class AsyncSaycart:
    """As `Saycart`."""

    def __init__(self, key: str, url: str = calls.URL, *, http: httpx.AsyncClient | None = None) -> None:
        self._http = http or httpx.AsyncClient(timeout=calls.TIMEOUT)
        self._http.base_url = httpx.URL(url)
        self._http.headers["Authorization"] = f"Bearer {key}"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def order(
        self,
        what: str | Recording,
        menu: str | None = None,
        *,
        confirm: bool = False,
        metadata: dict[str, Any] | None = None,
        idempotency_key: str | None = None,
    ) -> AsyncLiveOrder:
        return await self._live(calls.create(what, idempotency_key, confirm, menu=menu, metadata=metadata))

    async def get(self, order_id: str) -> AsyncLiveOrder:
        return await self._live(Call("GET", f"/v1/orders/{order_id}"))

    async def reviews(self, cursor: str | None = None) -> ReviewPage:
        call = Call("GET", "/v1/reviews", {"params": {"cursor": cursor} if cursor else {}})
        return ReviewPage.model_validate_json(await self.send(call))

    async def claim(self, review_id: str) -> ReviewDetail:
        call = Call("POST", f"/v1/reviews/{review_id}/claim", {"json": {}})
        return ReviewDetail.model_validate_json(await self.send(call))

    async def decide(
        self, review: ReviewDetail, action: Action, cart: CartDraft | None = None, reason: str | None = None
    ) -> ReviewDetail:
        return ReviewDetail.model_validate_json(await self.send(calls.decide(review, action, cart, reason)))

    async def send(self, call: Call) -> bytes:
        tries = 0
        while True:
            tries += 1
            try:
                response = await self._http.request(call.method, call.path, **call.sent)
                if response.is_success:
                    return response.content
                raise refused(response)
            except (SaycartError, httpx.TransportError) as error:
                await asyncio.sleep(calls.pause_s(call, error, tries))

    async def _live(self, call: Call) -> AsyncLiveOrder:
        order = AsyncLiveOrder.model_validate_json(await self.send(call))
        order._client = self
        return order


class AsyncLiveOrder(Order):
    """As `LiveOrder`."""

    _client: AsyncSaycart

    async def wait(self, timeout_s: float = 120) -> AsyncLiveOrder:
        order, end = self, time.monotonic() + timeout_s
        while call := calls.poll(order, end):
            order = await self._client._live(call)
        return order

    async def answer(self, choice: Choice | str) -> AsyncLiveOrder:
        return await self._client._live(calls.answer(self, choice))

    async def say(self, what: str | Recording, *, idempotency_key: str | None = None) -> AsyncLiveOrder:
        return await self._client._live(calls.say(self, what, idempotency_key))

    async def confirm(self, cart: CartDraft | None = None) -> AsyncLiveOrder:
        return await self._client._live(calls.confirm(self, cart))

    async def take(self) -> AsyncLiveOrder:
        return await self._client._live(Call("POST", f"/v1/orders/{self.id}/taken"))

    async def cancel(self) -> AsyncLiveOrder:
        return await self._client._live(Call("POST", f"/v1/orders/{self.id}/cancel"))

    async def events(self) -> AsyncIterator[OrderEvent]:
        after = tries = 0
        while True:
            headers, tries = {"Last-Event-ID": str(after)}, tries + 1
            call = Call("GET", f"/v1/orders/{self.id}/events", {"headers": headers})
            try:
                async with self._client._http.stream(call.method, call.path, **call.sent) as response:
                    if not response.is_success:
                        await response.aread()
                        raise refused(response)
                    async for line in response.aiter_lines():
                        tries = 1
                        if line.startswith("data:"):
                            event = OrderEvent.model_validate_json(line.removeprefix("data:"))
                            yield event
                            after = event.seq
                            if event.status in calls.ENDED:
                                return
                    if response.status_code == 204:
                        return
                await asyncio.sleep(calls.AGAIN_S)
            except (SaycartError, httpx.TransportError) as error:
                await asyncio.sleep(calls.pause_s(call, error, tries))
