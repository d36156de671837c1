"""The client: `Saycart(key).order("a latte", menu="cafe").wait()`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Self

import httpx

from saycart_client import calls
from saycart_client.core import Placed, Shop, event_of
from saycart_client.errors import SaycartError, refused
from saycart_client.models import OrderEvent


class LiveOrder(Placed["LiveOrder"]):
    """An order, and what can be done with it: see `Placed`."""

    def wait(self, timeout_s: float = 120) -> LiveOrder:
        """Wait until it has ended, or waits for its customer or the staff; raises NotSettled."""
        order, end = self, time.monotonic() + timeout_s
        while call := order._poll(end):
            order = self._shop._live(call)
        return order

    def events(self) -> Iterator[OrderEvent]:
        """Follow it from its first event to its end, over as many streams as that takes."""
        after = tries = 0
        while True:
            call, tries = self._events(after), tries + 1
            try:
                with self._shop._http.stream(call.method, call.path, **call.sent) as response:
                    if not response.is_success:
                        response.read()
                        raise refused(response)
                    for line in response.iter_lines():
                        tries = 1
                        if event := event_of(line):
                            yield event
                            after = event.seq
                            if event.status in calls.ENDED:
                                return
                    if response.status_code == 204:  # it had ended before
                        return
                time.sleep(calls.AGAIN_S)
            except (SaycartError, httpx.TransportError) as error:
                time.sleep(calls.pause_s(call, error, tries))


class Saycart(Shop[LiveOrder]):
    """One shop, by its key: see `Shop`."""

    def __init__(self, key: str, url: str = calls.URL, *, http: httpx.Client | None = None) -> None:
        """`http`: a client of your own, with a proxy or certificates."""
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
                    order._shop = self
                    return order
                raise refused(response)
            except (SaycartError, httpx.TransportError) as error:
                time.sleep(calls.pause_s(call, error, tries))
