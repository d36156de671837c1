"""Many askers, one transaction: what is asked for within a moment is read together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Mapping
from typing import Generic, TypeVar

from anyio import CapacityLimiter, to_thread

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")

PAUSE_S = 0.04
"""Between the begins of two reads, so that these are at most 25 a second however many ask. The first after a
quiet time begins at once; a read by itself takes a few milliseconds."""


class Batch(Generic[Key, Value]):
    """One reader on one event loop, with a thread of its own: the server's are for the other calls."""

    def __init__(self, read: Callable[[list[Key]], Mapping[Key, Value]]) -> None:
        """`read`: the values of many keys at one moment, without those that do not exist."""
        self._read = read
        self._asked: dict[Key, asyncio.Future[Value | None]] = {}
        self._running: asyncio.Task[None] | None = None
        self._next_at = 0.0

    async def ask(self, key: Key) -> Value | None:
        """The value as some transaction sees it that begins after this call; None where there is none.

        Raises:
            Exception: what `read` raised; all that were asked for together have the same.
        """
        loop = asyncio.get_running_loop()
        answer = self._asked.get(key)
        if answer is None:
            answer = self._asked[key] = loop.create_future()
            if self._running is None:
                self._running = loop.create_task(self._work())
        # One asker that goes away takes nothing from the others.
        return await asyncio.shield(answer)

    async def _work(self) -> None:
        limiter = CapacityLimiter(1)
        loop = asyncio.get_running_loop()
        try:
            while self._asked:
                if (early := self._next_at - loop.time()) > 0:
                    await asyncio.sleep(early)
                asked, self._asked = self._asked, {}
                self._next_at = loop.time() + PAUSE_S
                try:
                    found = await to_thread.run_sync(self._read, list(asked), limiter=limiter)
                except Exception as error:
                    for answer in asked.values():
                        answer.set_exception(error)
                        answer.exception()  # where all askers have gone it would never be read
                else:
                    for key, answer in asked.items():
                        answer.set_result(found.get(key))
        finally:
            self._running = None
