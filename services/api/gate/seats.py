"""How many may wait at once, by long polls and event streams: from one address, for one order, in all.

Waiting asks the database nothing (ADR 31), but each who waits holds a connection and memory, and to begin a
stream costs as much as any request.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterable, Iterator
from contextlib import AbstractContextManager, contextmanager

from fastapi import Request
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.types import Receive, Scope, Send

from infra.settings import Settings
from schemas.errors import TooManyWaiting
from services.api.deps import address

AGAIN_S = 10
"""Until another try. A long poll ends within half a minute, and an order soon."""


class Seats:
    """One for each app; all of it runs on the app's event loop. 0 in a setting: any number."""

    def __init__(self, wanted: Settings) -> None:
        self._limits = {
            "address": wanted.address_waits,
            "order": wanted.order_waits,
            "all": wanted.max_waits,
        }
        self._taken: Counter[tuple[str, str]] = Counter()

    def check(self, request: Request, order_id: str) -> None:
        """Whether one more may wait, asked before anything is read for it.

        Raises:
            TooManyWaiting: no.
        """
        for kind, name in _keys(request, order_id):
            limit = self._limits[kind]
            if limit and self._taken[kind, name] >= limit:
                raise TooManyWaiting(_FULL[kind], AGAIN_S)

    @contextmanager
    def taken(self, request: Request, order_id: str) -> Iterator[None]:
        """Wait within the block; errors as of `check`."""
        self.check(request, order_id)
        keys = _keys(request, order_id)
        self._taken.update(keys)
        try:
            yield
        finally:
            for key in keys:
                self._taken[key] -= 1
                if not self._taken[key]:
                    del self._taken[key]


_FULL = {
    "address": "Too many open long polls and event streams from this address",
    "order": "Too many connections are waiting for this order",
    "all": "Too many connections are waiting for orders",
}


def _keys(request: Request, order_id: str) -> list[tuple[str, str]]:
    return [("address", address(request)), ("order", order_id), ("all", "")]


class SeatedStream(EventSourceResponse):
    """An event stream that takes its seat before its first byte and leaves it after its last."""

    def __init__(
        self,
        seat: AbstractContextManager[None],
        content: AsyncIterable[ServerSentEvent],
        *,
        ping_s: int,
        grace_s: float,
    ) -> None:
        super().__init__(content, ping=ping_s, shutdown_grace_period=grace_s)
        self._seat = seat

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._seat:
            await super().__call__(scope, receive, send)
