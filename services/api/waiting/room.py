"""Those who wait for orders: long polls and event streams.

However many wait, one query at a time asks which of their orders are newer than what was seen of them: at
once after a change, more rarely the longer nothing changes. Who waits for such an order then looks at it in
one transaction. See ADR 31.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from typing import TypeVar

import structlog
from anyio import CapacityLimiter, create_task_group, to_thread

from schemas.errors import NotFound, SaycartError
from services.storage.orders.watched import BEHIND, UNSEEN, Happened, Look, Versions, WatchedStore

log = structlog.get_logger(__name__)

Read = TypeVar("Read", Look, Happened)

SHORT_S, LONG_S = 0.04, 1.0
"""Between two queries, at least and at most."""
SHARE = 0.03
"""Between them: this share of the time since a client came or an order changed."""
REST = 3
"""After a query so many times its own duration without another: milliseconds for a thousand orders."""
SURE_S = 4.0
"""For so long what a query has found is taken to be so."""
READERS = 4
"""Threads that look at orders: the server's are for the other calls."""


@dataclass(eq=False)
class _Order:
    """One order that clients wait for. `newest` is what any look or query has seen of it, last so at
    `checked_at`; `stir` is done when that has changed."""

    stir: asyncio.Future[None]
    watchers: int = 0
    newest: Versions = UNSEEN
    checked_at: float = -math.inf

    def wake(self) -> None:
        stirred, self.stir = self.stir, asyncio.get_running_loop().create_future()
        stirred.set_result(None)

    def saw(self, versions: Versions) -> None:
        if versions > self.newest:
            self.newest = versions
            self.wake()


class Watch:
    """One who waits for one order. It begins behind: look first, then wait for a change."""

    def __init__(self, waiting: Waiting, shop: str, order_id: str, order: _Order) -> None:
        self._waiting, self._shop, self._id, self._order = waiting, shop, order_id, order
        self._seen: Versions = BEHIND

    async def look(self) -> Look:
        """The order as it is now.

        Raises:
            NotFound: the shop has no such order.
            StorageUnavailable: the database does not answer.
        """
        look = await self._read(self._waiting.store.look)
        if look.order.shop != self._shop:
            raise NotFound(f"No order {self._id}")
        return look

    async def happened(self, after: int) -> Happened:
        """Its history after that event; errors as of `look`."""
        return await self._read(self._waiting.store.happened, after)

    async def changed(self, until: float = math.inf, gone: asyncio.Future[None] | None = None) -> bool:
        """Wait for a change since the last look; False at `until` (monotonic clock), when `gone` is done, or
        when the server leaves."""
        while not self._waiting.closing:
            if self._seen < self._order.newest:
                return True
            left = until - time.monotonic()
            if left <= 0 or (gone is not None and gone.done()):
                return False
            awaited = {self._order.stir} if gone is None else {self._order.stir, gone}
            timeout = None if math.isinf(left) else left
            await asyncio.wait(awaited, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        return False

    @property
    def sure(self) -> bool:
        """Whether the last look was confirmed a moment ago; else the database does not answer."""
        return time.monotonic() - self._order.checked_at < SURE_S

    async def _read(self, read: Callable[..., Read | None], *asked: object) -> Read:
        found = await to_thread.run_sync(read, self._id, *asked, limiter=self._waiting.readers)
        if found is None:
            raise NotFound(f"No order {self._id}")
        self._seen = found.versions
        self._order.checked_at = time.monotonic()
        self._order.saw(found.versions)
        return found


class Waiting:
    """One for each app; all of it runs on the app's event loop. `closing`: the server leaves."""

    def __init__(self, store: WatchedStore) -> None:
        self.store = store
        self._orders: dict[str, _Order] = {}
        self.readers = CapacityLimiter(READERS)
        self._came, self._stirred_at = asyncio.Event(), -math.inf
        self.closing = False

    @property
    def watchers(self) -> int:
        """How many wait now; any thread may ask."""
        return sum(order.watchers for order in list(self._orders.values()))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Look for changes for the length of the block."""
        async with create_task_group() as tasks:
            tasks.start_soon(self._compare)
            yield
            tasks.cancel_scope.cancel()

    def close(self) -> None:
        """Let all go who wait, now and from now on: the server leaves."""
        self.closing = True
        for order in self._orders.values():
            order.wake()

    @contextmanager
    def on(self, shop: str, order_id: str) -> Iterator[Watch]:
        """Wait for an order of the shop, which need not exist, within the block."""
        order = self._orders.get(order_id)
        if order is None:
            order = self._orders[order_id] = _Order(asyncio.get_running_loop().create_future())
        self._stirred_at = time.monotonic()
        self._came.set()
        order.watchers += 1
        try:
            yield Watch(self, shop, order_id, order)
        finally:
            order.watchers -= 1
            if not order.watchers:
                del self._orders[order_id]

    async def until(
        self,
        shop: str,
        order_id: str,
        done: Callable[[Look], bool],
        wait_s: float,
        gone: Callable[[], Awaitable[None]],
    ) -> Look:
        """The shop's order once it is `done`; as it is after `wait_s`, when its client has `gone`, or when
        the server leaves. Errors as of `Watch.look`."""
        until = time.monotonic() + wait_s
        with self.on(shop, order_id) as watch:
            look = await watch.look()
            if done(look) or self.closing:
                return look
            left: asyncio.Future[None] = asyncio.ensure_future(gone())
            try:
                while await watch.changed(until, left):
                    look = await watch.look()
                    if done(look):
                        return look
                return look if watch.sure else await watch.look()
            finally:
                left.cancel()

    async def _compare(self) -> None:
        """Ask which orders are newer, as long as anyone waits for one."""
        limiter, took_s = CapacityLimiter(1), 0.0
        while True:
            await asyncio.sleep(max(SHORT_S, REST * took_s))
            with suppress(TimeoutError):
                await asyncio.wait_for(self._came.wait(), self._pause_s())
            self._came.clear()
            began = time.monotonic()
            asked = {order_id: order.newest for order_id, order in self._orders.items()}
            if not asked:  # the last one left meanwhile
                continue
            try:
                newer = await to_thread.run_sync(self.store.newer, asked, limiter=limiter)
            except Exception as error:
                log.warning("waiting.not_compared", exc_info=not isinstance(error, SaycartError))
                await asyncio.sleep(LONG_S)
                continue
            took_s = time.monotonic() - began
            if newer:
                self._stirred_at = began
            for order_id in asked:
                if order := self._orders.get(order_id):
                    order.checked_at = began
                    order.saw(newer.get(order_id, order.newest))

    def _pause_s(self) -> float | None:
        """Seconds to the next query, unless a client comes; None while no client waits."""
        if not self._orders:
            return None
        return min(SHARE * (time.monotonic() - self._stirred_at), LONG_S)
