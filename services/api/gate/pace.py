"""How long a body may take: a time for its start, more for each byte that came, and an end to all of it.

Only the time that is spent waiting for the client counts, never what we do with its bytes meanwhile. Heads
that do not come are the proxy's to end (docs/security.md).
"""

from __future__ import annotations

import time

import anyio
from starlette.types import Message, Receive

from services.api.problems import RequestRefused

# Seconds that any body has, bytes that buy it one more, and the seconds that no body has more than.
START_S = 20.0
RATE = 2000
MOST_S = 120.0


def allowed_s(received: int) -> float:
    """Return the seconds that a body of which `received` bytes have come may take."""
    return min(START_S + received / RATE, MOST_S)


class Paced:
    """An ASGI `receive` that refuses a body that is too slow, and leaves all that follows it alone.

    Raises:
        RequestRefused: too slow (408). The connection is closed with the answer.
    """

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._received = 0
        self._waited_s = 0.0
        self.whole_at: float | None = None
        """When the last of the body came, by the monotonic clock."""

    async def __call__(self) -> Message:
        if self.whole_at is not None:
            return await self._receive()
        began = time.monotonic()
        try:
            with anyio.fail_after(max(0.0, allowed_s(self._received) - self._waited_s)):
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
