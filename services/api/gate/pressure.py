"""Who may hand in an order now: refusals while too much waits, and one request at a time for a key.

All is asked before the body is read. The counts are this process's own look at the database, at most
`FRESH_S` old, plus what it has let in since. With several API processes a burst can pass a limit by what
they let in within that time; the limits keep waiting times sane, and nothing leans on their being exact.
"""

from __future__ import annotations

import math
import random
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NoReturn

import anyio
import structlog
from starlette.concurrency import run_in_threadpool

from schemas.errors import IdempotencyInFlight, Overloaded, SaycartError, TooManyOrders
from schemas.shops.access import PAGE, source_of
from services.api.gate.limits import amounts, refusals
from services.bootstrap import Container
from services.storage.orders.load import Load

log = structlog.get_logger(__name__)

FRESH_S = 0.5
# Seconds to wait when no order was finished in the last minute, so that nothing was measured.
UNMEASURED_S = 15.0
MAX_WAIT_S = 600
# Seconds that a client waits whose orders took too much work: a minute forgets them.
SECONDS_WAIT_S = 60
_Counted = tuple[str, str, str]  # name of the limit, shop, whose
_ALL: _Counted = ("all", "", "")
# Seconds until the first request under a key has probably ended.
IN_FLIGHT_S = 1


def wait_s(load: Load) -> int:
    """Seconds after which half of what waits will be done, give or take a fifth.

    Half: by then there is room, and the workers have not run dry. A fifth: refused clients must not all
    come back in the same moment.
    """
    seconds = load.waiting / 2 / load.per_second if load.left else UNMEASURED_S
    return max(1, min(MAX_WAIT_S, math.ceil(seconds * random.uniform(0.8, 1.2))))  # noqa: S311 (no secret)


class Pressure:
    """One for each app. `refused` counts refusals by code, for /metrics."""

    def __init__(self, box: Container) -> None:
        self._box = box
        self._most = amounts(box.settings)
        self._load = Load()
        self._waiting: Counter[_Counted] = Counter()
        self._looked_at = -math.inf
        self._looking = anyio.Lock()
        self._keys: set[tuple[str, str, str]] = set()
        codes = [error.code for error in (TooManyOrders, Overloaded, IdempotencyInFlight)]
        says = "orders refused before reading their body"
        self.refused = refusals("orders_refused", says, "code", codes)

    @asynccontextmanager
    async def admitted(self, shop: str, client: str, keys: str, key: str | None) -> AsyncIterator[None]:
        """Around the whole taking in of one order of the shop. `client`: whose backlog it adds to; `keys`:
        the space of its idempotency key.

        A repeat of an accepted key is let through however much waits: its client must learn that the order
        is in, and it adds nothing.

        Raises:
            IdempotencyInFlight: another request of this process has the key.
            TooManyOrders, Overloaded: too much waits, of this client's, of its shop's, or in all.
            StorageUnavailable: the database does not answer; it would not take the order either.
        """
        held = (shop, keys, key) if key else None
        if held in self._keys:
            in_flight = "The first request with this Idempotency-Key is still running."
            self._refuse(IdempotencyInFlight(in_flight, wait_s=IN_FLIGHT_S))
        if held:
            self._keys.add(held)
        try:
            await self._admit((shop, client), keys, key)
            yield
        finally:
            # However it ends: refused, cut off by its client, or stored.
            if held:
                self._keys.discard(held)

    async def _admit(self, client: tuple[str, str], keys: str, key: str | None) -> None:
        if not any(self._most[name] for name, _, _ in (*_counted(*client), *_working(*client))):
            return
        await self._look()
        refusal = self._refusal(client)
        if refusal is None:
            self._waiting.update(_counted(*client))
            return
        if key:
            known: bool = await run_in_threadpool(self._box.load.knows_key, client[0], keys, key)
            if known:
                return
        self._refuse(refusal)

    def _refuse(self, refusal: SaycartError) -> NoReturn:
        self.refused.labels(refusal.code).inc()
        raise refusal

    def _refusal(self, client: tuple[str, str]) -> TooManyOrders | Overloaded | None:
        for counted in _counted(*client):
            most, waiting = self._most[counted[0]], self._waiting[counted]
            if most and waiting >= most:
                if counted == _ALL:
                    return Overloaded(f"{waiting} orders are already waiting", wait_s(self._load))
                said = f"{waiting} orders from this client are already waiting"
                return TooManyOrders(said, wait_s(self._load))
        for name, shop, source in _working(*client):
            most, seconds = self._most[name], self._load.seconds.get((shop, source), 0.0)
            if most and seconds >= most:
                said = f"Orders from here took {seconds:.0f} s of work in a minute, of {most} s allowed"
                return TooManyOrders(said, SECONDS_WAIT_S)
        return None

    async def _look(self) -> None:
        """Count again when the last count is too old; requests that come meanwhile wait for that one."""
        async with self._looking:
            if time.monotonic() - self._looked_at < FRESH_S:
                return
            load = await run_in_threadpool(self._box.load.load)
            waiting: Counter[_Counted] = Counter({_ALL: load.waiting})
            for shop, orders in load.by_shop.items():
                waiting["shop_orders", shop, ""] = orders
            for (shop, client), orders in load.by_client.items():
                for counted in _counted(shop, client):
                    if counted[0] not in ("shop_orders", "all"):  # orders of older versions have no client
                        waiting[counted] += orders
            for (shop, client), orders in load.in_review.items():
                for counted in _counted(shop, client):
                    if counted[0] in ("visitor", "place"):
                        waiting[counted] += orders
            self._load, self._waiting, self._looked_at = load, waiting, time.monotonic()


def page_client(page: str, address: str, visitor: str) -> str:
    """Whose backlog an order from a page adds to. `page`: `page:` and its key, or `page` at `/`."""
    return f"{PAGE}{page}/{address}/{visitor}"


def _counted(shop: str, client: str) -> list[_Counted]:
    """All that one order of a client counts for, the narrowest first."""
    shops: list[_Counted] = [("shop_orders", shop, ""), _ALL]
    if client.startswith(PAGE):
        place = ("place", shop, source_of(client) or "")
        return [("visitor", shop, client), place, ("pages", shop, ""), *shops]
    return [("client", shop, client), *shops]


def _working(shop: str, client: str) -> list[_Counted]:
    """Whose seconds of work count for one order of a client, the narrowest first."""
    narrowest = "address_seconds" if client.startswith(PAGE) else "key_seconds"
    return [(narrowest, shop, source_of(client) or ""), ("shop_seconds", shop, "")]
