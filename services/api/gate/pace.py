"""How long a body may take: a time for its start, more for each byte that came, and an end to all of it.

Only the time that is spent waiting for the client counts, never what we do with its bytes meanwhile. Heads
that do not come are the proxy's to end (docs/security.md).
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import anyio
from starlette.types import Message, Receive

from infra.settings import Settings
from services.api.problems import RequestRefused


@dataclass(frozen=True, slots=True)
class Pace:
    """A body has `start_s` seconds, and one more for each `rate` bytes of it; never more than `most_s`."""

    start_s: float
    rate: int
    most_s: float

    @classmethod
    def of(cls, wanted: Settings) -> Pace:
        return cls(wanted.body_s, wanted.body_rate, wanted.body_most_s)

    def allowed_s(self, received: int) -> float:
        return min(self.start_s + received / self.rate, self.most_s)


class Paced:
    """An ASGI `receive` that refuses a body slower than its pace, and leaves all that follows it alone.

    Raises:
        RequestRefused: too slow (408). The connection is closed with the answer.
    """

    def __init__(self, receive: Receive, pace: Pace) -> None:
        self._receive, self._pace = receive, pace
        self._received = 0
        self._waited_s = 0.0
        self.whole_at: float | None = None
        """When the last of the body came, by the monotonic clock."""

    async def __call__(self) -> Message:
        if self.whole_at is not None:
            return await self._receive()
        began = time.monotonic()
        try:
            with anyio.fail_after(max(0.0, self._pace.allowed_s(self._received) - self._waited_s)):
                message = await self._receive()
        except TimeoutError:
            raise RequestRefused(
                "upload_too_slow",
                408,
                f"The body was incomplete after {self._waited_s + time.monotonic() - began:.0f} seconds"
                f" and {self._received} bytes.",
                hint="Try again over a faster connection.",
                headers={"Connection": "close"},
            ) from None
        self._waited_s += time.monotonic() - began
        self._received += len(message.get("body", b""))
        if not message.get("more_body", False):
            self.whole_at = time.monotonic()
        return message
