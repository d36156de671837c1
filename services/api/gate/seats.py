"""Who waits for orders, by long polls and event streams, within the limits of `limits.py`.

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
from services.api.gate.limits import LIMITS, amounts

AGAIN_S = 10
"""Until another try. A long poll ends within half a minute, and an order soon."""


class Seats:
    """One for each app; all of it runs on the app's event loop."""

    def __init__(self, wanted: Settings) -> None:
        self._most = amounts(wanted)
        self._taken: Counter[tuple[str, str]] = Counter()

    def check(self, request: Request) -> None:
        """Whether one more may wait, asked before anything is read for it.

        Raises:
            TooManyWaiting: no.
        """
        for key in _keys(request):
            if (most := self._most[key[0]]) and self._taken[key] >= most:
                raise TooManyWaiting(LIMITS[key[0]].says, AGAIN_S)

    @contextmanager
    def taken(self, request: Request) -> Iterator[None]:
        """Wait within the block; errors as of `check`."""
        self.check(request)
        keys = _keys(request)
        self._taken.update(keys)
        try:
            yield
        finally:
            for key in keys:
                self._taken[key] -= 1
                if not self._taken[key]:
                    del self._taken[key]


def _keys(request: Request) -> list[tuple[str, str]]:
    return [("address_waits", address(request)), ("all_waits", "")]


class SeatedStream(EventSourceResponse):
    """An event stream that takes its seat before its first byte and leaves it after its last."""

    def __init__(
        self, seat: AbstractContextManager[None], content: AsyncIterable[ServerSentEvent], *, ping_s: int,
        grace_s: float,
    ) -> None:  # fmt: skip
        super().__init__(content, ping=ping_s, shutdown_grace_period=grace_s)
        self._seat = seat

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._seat:
            await super().__call__(scope, receive, send)
