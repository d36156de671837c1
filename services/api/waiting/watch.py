"""Waiting for changes of orders: long polls and event streams.

However many clients wait, one query at a time finds those orders that have changed: soon after a change, less
often the longer nothing changes. Each waiting client then reads its order in one transaction. See ADR 31.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass

import structlog
from anyio import CapacityLimiter, create_task_group, to_thread

from schemas.errors import NotFound, SaycartError
from schemas.records.orders import StoredEvent
from services.storage.orders.watched import BEHIND, UNSEEN, Look, Versions, WatchedStore

log = structlog.get_logger(__name__)

MIN_PAUSE_S, MAX_PAUSE_S = 0.04, 1.0
"""Seconds between two queries."""
PAUSE_SHARE = 0.03
"""Between those bounds, the pause is this share of the time since a client came or an order changed."""
PAUSE_FACTOR = 3
"""After a query, a pause of this many times its duration: milliseconds for a thousand orders."""
READERS = 4
"""Threads that read orders; the server's threads are for other calls."""


@dataclass(eq=False)
class _Order:
    """One order that clients wait for. `newest` is its latest known version; `change` is done when that
    changes."""

    change: asyncio.Future[None]
    watchers: int = 0
    newest: Versions = UNSEEN

    def wake(self) -> None:
        done, self.change = self.change, asyncio.get_running_loop().create_future()
        done.set_result(None)

    def saw(self, versions: Versions) -> None:
        if versions > self.newest:
            self.newest = versions
            self.wake()


class Watch:
    """One client that waits for one order. Call `look` first, then wait for a change."""

    def __init__(self, waiting: Waiting, shop: str, order_id: str, order: _Order) -> None:
        self._waiting, self._shop, self._id, self._order = waiting, shop, order_id, order
        self._seen: Versions = BEHIND

    async def look(self) -> Look:
        """Return the order as it is now.

        Raises:
            NotFound: the shop has no such order.
            StorageUnavailable: the database is not responding.
        """
        waiting = self._waiting
        look = await to_thread.run_sync(waiting.store.look, self._id, limiter=waiting.readers)
        if look is None or look.order.shop != self._shop:
            raise NotFound(f"No order {self._id}")
        self._seen = look.versions
        self._order.saw(look.versions)
        return look

    async def happened(self, after: int) -> list[StoredEvent]:
        """Return the order's history after that event. Raises StorageUnavailable."""
        waiting, newest = self._waiting, self._order.newest
        events = await to_thread.run_sync(waiting.store.happened, self._id, after, limiter=waiting.readers)
        self._seen = newest
        return events

    async def changed(self, until: float = math.inf, gone: asyncio.Future[None] | None = None) -> bool:
        """Wait for a change since the last look. Return False at `until` (monotonic clock), once `gone` is
        done, or when the server stops."""
        while not self._waiting.closing:
            if self._seen < self._order.newest:
                return True
            remaining_s = until - time.monotonic()
            if remaining_s <= 0 or (gone is not None and gone.done()):
                return False
            awaited = {self._order.change} if gone is None else {self._order.change, gone}
            timeout = None if math.isinf(remaining_s) else remaining_s
            await asyncio.wait(awaited, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        return False


class Waiting:
    """All waiting clients of one app, for its event loop. `closing` is True once the server stops."""

    def __init__(self, store: WatchedStore) -> None:
        self.store = store
        self._orders: dict[str, _Order] = {}
        self.readers = CapacityLimiter(READERS)
        self._arrived, self._active_at = asyncio.Event(), -math.inf
        self.closing = False

    @property
    def watchers(self) -> int:
        """Return the number of waiting clients; thread-safe."""
        return sum(order.watchers for order in list(self._orders.values()))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Query for changes during the block."""
        async with create_task_group() as tasks:
            tasks.start_soon(self._compare)
            yield
            tasks.cancel_scope.cancel()

    def close(self) -> None:
        """End all waiting, now and later: the server stops."""
        self.closing = True
        for order in self._orders.values():
            order.wake()

    @contextmanager
    def on(self, shop: str, order_id: str) -> Iterator[Watch]:
        """Yield a watch of an order, which need not exist."""
        order = self._orders.get(order_id)
        if order is None:
            order = self._orders[order_id] = _Order(asyncio.get_running_loop().create_future())
        self._active_at = time.monotonic()
        self._arrived.set()
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
        """Return the order once it is `done`, after `wait_s`, when the client has `gone`, or when the server
        stops. Raises as `Watch.look`."""
        until = time.monotonic() + wait_s
        with self.on(shop, order_id) as watch:
            look = await watch.look()
            if done(look) or self.closing:
                return look
            disconnect: asyncio.Future[None] = asyncio.ensure_future(gone())
            try:
                while await watch.changed(until, disconnect):
                    look = await watch.look()
                    if done(look):
                        return look
                return look
            finally:
                disconnect.cancel()

    async def _compare(self) -> None:
        """Query for changed orders while any client waits."""
        limiter, took_s = CapacityLimiter(1), 0.0
        while True:
            await asyncio.sleep(max(MIN_PAUSE_S, PAUSE_FACTOR * took_s))
            with suppress(TimeoutError):
                await asyncio.wait_for(self._arrived.wait(), self._pause_s())
            self._arrived.clear()
            began = time.monotonic()
            known = {order_id: order.newest for order_id, order in self._orders.items()}
            if not known:  # the last client has left
                continue
            try:
                newer = await to_thread.run_sync(self.store.newer, known, limiter=limiter)
            except Exception as error:
                log.warning("waiting.not_compared", exc_info=not isinstance(error, SaycartError))
                await asyncio.sleep(MAX_PAUSE_S)
                continue
            took_s = time.monotonic() - began
            if newer:
                self._active_at = began
            for order_id, versions in newer.items():
                if order := self._orders.get(order_id):
                    order.saw(versions)

    def _pause_s(self) -> float | None:
        """Return the seconds until the next query, unless a client arrives; None while no client waits."""
        if not self._orders:
            return None
        return min(PAUSE_SHARE * (time.monotonic() - self._active_at), MAX_PAUSE_S)
