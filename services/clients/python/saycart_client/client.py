"""The client: `Saycart(key).order("a latte", menu="cafe").wait()`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Self

import httpx

from saycart_client import calls
from saycart_client.core import BaseOrder, BaseSaycart, parse_event
from saycart_client.errors import SaycartError, error_of
from saycart_client.models import OrderEvent


class LiveOrder(BaseOrder["LiveOrder"]):
    """An order with its methods, see also `BaseOrder`."""

    def wait(self, timeout_s: float = 120) -> LiveOrder:
        """Wait until it has ended, or is waiting for its customer or the staff; raises NotSettled."""
        order, end = self, time.monotonic() + timeout_s
        while call := order._poll(end):
            order = self._client._live(call)
        return order

    def events(self) -> Iterator[OrderEvent]:
        """Yield its events from the first to the last, reopening the stream if needed."""
        after = tries = 0
        while True:
            call, tries = self._events(after), tries + 1
            try:
                with self._client._http.stream(call.method, call.path, **call.sent) as response:
                    if not response.is_success:
                        response.read()
                        raise error_of(response)
                    for line in response.iter_lines():
                        tries = 1
                        if event := parse_event(line):
                            yield event
                            after = event.seq
                            if event.status in calls.ENDED:
                                return
                    if response.status_code == 204:  # it had already ended
                        return
                time.sleep(calls.REOPEN_S)
            except (SaycartError, httpx.TransportError) as error:
                time.sleep(calls.pause_s(call, error, tries))


class Saycart(BaseSaycart[LiveOrder]):
    """The client of one shop, see `BaseSaycart`."""

    def __init__(self, key: str, url: str = calls.URL, *, http: httpx.Client | None = None) -> None:
        """Pass your own `http` client to set a proxy or certificates."""
        self._http = http or httpx.Client(timeout=calls.TIMEOUT)
        self._http.base_url = httpx.URL(url)
        self._http.headers["Authorization"] = f"Bearer {key}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def _live(self, call: calls.Call) -> LiveOrder:
        tries = 0
        while True:
            tries += 1
            try:
                response = self._http.request(call.method, call.path, **call.sent)
                if response.is_success:
                    order = LiveOrder.model_validate_json(response.content)
                    order._client = self
                    return order
                raise error_of(response)
            except (SaycartError, httpx.TransportError) as error:
                time.sleep(calls.pause_s(call, error, tries))
