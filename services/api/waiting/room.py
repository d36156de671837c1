"""Those who wait for orders: long polls and event streams. Waiting asks the database nothing.

A notice (`infra/sql/notices.py`) wakes those who wait for its order, and they look at it in one transaction.
Where it only says that something has changed, one query asks which of the waited-for orders are newer than
what was seen of them. The same query, about every `FALLBACK_S`, finds what no notice told. See ADR 31.
"""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from typing import TypeVar

import structlog
from anyio import CapacityLimiter, create_task_group, to_thread

from infra.sql.notices import Notices
from schemas.errors import NotFound, SaycartError
from services.storage.orders.watched import UNSEEN, Happened, Look, Versions, WatchedStore

log = structlog.get_logger(__name__)

Read = TypeVar("Read", Look, Happened)

FALLBACK_S = 2.0
"""Between two looks for what no notice told, give or take a quarter: API processes must not look in step."""
REST = 3
"""After the query for newer orders so many times its own duration without another: it takes milliseconds for
a thousand orders, and on SQLite there may be a commit at any time."""
BROKEN_S = 5.0
"""Until a listener that failed unexpectedly is started again."""
READERS = 4
"""Threads that look at orders: the server's are for the other calls."""


@dataclass(eq=False)
class _Order:
    """One order that clients wait for. `newest` is what any look or query has seen of it, last so at
    `checked_at`; `told` counts its notices; `stir` is done when something of this has changed."""

    stir: asyncio.Future[None]
    watchers: int = 0
    newest: Versions = UNSEEN
    checked_at: float = -math.inf
    told: int = 0

    def wake(self) -> None:
        stirred, self.stir = self.stir, asyncio.get_running_loop().create_future()
        stirred.set_result(None)

    def saw(self, versions: Versions) -> None:
        if versions > self.newest:
            self.newest = versions
            self.wake()


class Watch:
    """One who waits for one order. It begins behind: look first, then wait for a change."""

    def __init__(self, waiting: Waiting, order_id: str, order: _Order) -> None:
        self._waiting, self._id, self._order = waiting, order_id, order
        self._seen, self._told = UNSEEN, -1

    async def look(self) -> Look:
        """The order as it is now.

        Raises:
            NotFound: no such order.
            StorageUnavailable: the database does not answer.
        """
        told = self._order.told
        look = await self._waiting.any_look(self._id)
        self._caught_up(told, look.versions)
        return look

    async def happened(self, after: int) -> Happened:
        """Its history after that event; errors as of `look`."""
        told = self._order.told
        happened = await self._waiting.happened(self._id, after)
        self._caught_up(told, happened.versions)
        return happened

    async def changed(self, until: float = math.inf, gone: asyncio.Future[None] | None = None) -> bool:
        """Wait for a change since the last look; False at `until` (monotonic clock), when `gone` is done, or
        when the server leaves."""
        while not self._waiting.closing:
            if self._told != self._order.told or self._seen < self._order.newest:
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
        return time.monotonic() - self._order.checked_at < 2 * FALLBACK_S

    def _caught_up(self, told: int, versions: Versions) -> None:
        self._told, self._seen = told, versions
        self._order.checked_at = time.monotonic()
        self._order.saw(versions)


class Waiting:
    """One for each app; all of it runs on the app's event loop. `closing`: the server leaves."""

    def __init__(self, store: WatchedStore, notices: Callable[[], Notices]) -> None:
        self._store, self._notices = store, notices
        self._orders: dict[str, _Order] = {}
        self._readers = CapacityLimiter(READERS)
        self._wanted, self._doubt = asyncio.Event(), asyncio.Event()
        self.closing = False

    @property
    def watchers(self) -> int:
        """How many wait now; any thread may ask."""
        return sum(order.watchers for order in list(self._orders.values()))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Listen, and look now and then, for the length of the block."""
        async with create_task_group() as tasks:
            tasks.start_soon(self._listen)
            tasks.start_soon(self._compare)
            yield
            tasks.cancel_scope.cancel()

    def close(self) -> None:
        """Let all go who wait, now and from now on: the server leaves."""
        self.closing = True
        for order in self._orders.values():
            order.wake()

    @contextmanager
    def on(self, order_id: str) -> Iterator[Watch]:
        """Wait for an order, which need not exist, within the block."""
        order = self._orders.get(order_id)
        if order is None:
            order = self._orders[order_id] = _Order(asyncio.get_running_loop().create_future())
            self._wanted.set()
        order.watchers += 1
        try:
            yield Watch(self, order_id, order)
        finally:
            order.watchers -= 1
            if not order.watchers:
                del self._orders[order_id]
                if not self._orders:
                    self._wanted.clear()

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
        with self.on(order_id) as watch:
            look = _of(shop, await watch.look())
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

    async def look(self, shop: str, order_id: str) -> Look:
        """One order of the shop; errors as of `Watch.look`."""
        return _of(shop, await self.any_look(order_id))

    async def any_look(self, order_id: str) -> Look:
        """The same, whose it may be: for a `Watch`, whose maker has looked whose it is."""
        return _found(order_id, await self._read(self._store.look, order_id))

    async def happened(self, order_id: str, after: int) -> Happened:
        """The history of one order after an event."""
        return _found(order_id, await self._read(self._store.happened, order_id, after))

    async def _read(self, read: Callable[..., Read | None], *asked: object) -> Read | None:
        return await to_thread.run_sync(read, *asked, limiter=self._readers)

    async def _listen(self) -> None:
        while True:
            try:
                await self._notices().run(self._heard, self._wanted)
            except Exception:
                log.exception("notices.broken")
                await asyncio.sleep(BROKEN_S)

    def _heard(self, what: str | None) -> None:
        if what is None:
            self._doubt.set()
        elif order := self._orders.get(what):
            order.told += 1
            order.wake()

    async def _compare(self) -> None:
        """Ask which orders are newer: when a notice does not say which, and now and then."""
        limiter = CapacityLimiter(1)
        while True:
            await self._wanted.wait()
            pause_s = FALLBACK_S * random.uniform(0.75, 1.25)  # noqa: S311 (no secret)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._doubt.wait(), pause_s)
            self._doubt.clear()
            began = time.monotonic()
            asked = {order_id: order.newest for order_id, order in self._orders.items()}
            try:
                newer = await to_thread.run_sync(self._store.newer, asked, limiter=limiter)
            except Exception as error:
                log.warning("waiting.not_compared", exc_info=not isinstance(error, SaycartError))
                await asyncio.sleep(pause_s)
                continue
            for order_id in asked:
                if order := self._orders.get(order_id):
                    order.checked_at = began
                    order.saw(newer.get(order_id, order.newest))
            await asyncio.sleep(REST * (time.monotonic() - began))


def _of(shop: str, look: Look) -> Look:
    """An order of another shop does not exist."""
    if look.order.shop != shop:
        raise NotFound(f"No order {look.order.id}")
    return look


def _found(order_id: str, read: Read | None) -> Read:
    if read is None:
        raise NotFound(f"No order {order_id}")
    return read
