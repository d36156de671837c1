"""Admission of orders: refuse them while too many wait.

All checks come before the body is read. Counts are read from the database at most every `FRESH_S`, plus the
orders admitted since. With several API processes a burst can exceed a limit by what they admit in that time;
the limits only bound waiting times and need not be exact.
"""

from __future__ import annotations

import math
import random
import time
from collections import Counter

import anyio
import structlog
from starlette.concurrency import run_in_threadpool

from schemas.errors import Overloaded, TooManyOrders
from schemas.shops.access import PAGE, source_of
from services.api.gate.limits import amounts, refusal_counter
from services.bootstrap import Container
from services.storage.orders.load import WINDOW_S, Load

log = structlog.get_logger(__name__)

FRESH_S = 0.5
# Seconds to wait if no order was finished in the last minute.
UNMEASURED_S = 15.0
MAX_WAIT_S = 600
# Seconds to wait for clients over their seconds of work, which are counted by the minute.
SECONDS_WAIT_S = 60
_Counted = tuple[str, str, str]  # name of the limit, shop, whose
_ALL: _Counted = ("all", "", "")


def wait_s(load: Load) -> int:
    """Return the seconds until half of the waiting orders are done, plus or minus a fifth.

    Then there is room again and workers are still busy; the jitter spreads the retries.
    """
    seconds = load.waiting / 2 * WINDOW_S / load.left if load.left else UNMEASURED_S
    return max(1, min(MAX_WAIT_S, math.ceil(seconds * random.uniform(0.8, 1.2))))  # noqa: S311 (no secret)


class Pressure:
    """Admission control of one app. `refused` counts refusals by code, for /metrics."""

    def __init__(self, box: Container) -> None:
        self._box = box
        self._amounts = amounts(box.settings)
        self._load = Load()
        self._waiting: Counter[_Counted] = Counter()
        self._looked_at = -math.inf
        self._looking = anyio.Lock()
        codes = [error.code for error in (TooManyOrders, Overloaded)]
        description = "orders refused before reading their body"
        self.refused = refusal_counter("orders_refused", description, "code", codes)

    async def admit(self, shop: str, client: str, keys: str, key: str | None) -> None:
        """Admit an order of `client`; `keys` is the namespace of its idempotency key.

        A repeat of an accepted key is always admitted: it adds no order, and its client must learn that.

        Raises:
            TooManyOrders, Overloaded: too many orders of the client, of its shop, or in all.
            StorageUnavailable: the database is not responding.
        """
        limits, work = _counted(shop, client), _working(shop, client)
        if not any(self._amounts[name] for name, _, _ in (*limits, *work)):
            return
        await self._look()
        refusal = self._refusal(limits, work)
        if refusal is None:
            self._waiting.update(limits)
            return
        known: bool = key is not None and await run_in_threadpool(self._box.load.knows_key, shop, keys, key)
        if not known:
            self.refused.labels(refusal.code).inc()
            raise refusal

    def _refusal(self, limits: list[_Counted], work: list[_Counted]) -> TooManyOrders | Overloaded | None:
        for counted in limits:
            limit, waiting = self._amounts[counted[0]], self._waiting[counted]
            if limit and waiting >= limit:
                if counted == _ALL:
                    return Overloaded(f"{waiting} orders are already waiting", wait_s(self._load))
                detail = f"{waiting} orders from here are already waiting"
                return TooManyOrders(detail, wait_s(self._load))
        for name, shop, source in work:
            limit, seconds = self._amounts[name], self._load.seconds.get((shop, source), 0.0)
            if name == "shop_seconds":  # the tills' share, which accepted orders of pages can't use up
                seconds -= max(0.0, self._load.seconds.get((shop, PAGE), 0.0) - self._amounts["page_seconds"])
            if limit and seconds >= limit:
                return TooManyOrders("There were too many orders from here in a minute", SECONDS_WAIT_S)
        return None

    async def _look(self) -> None:
        """Refresh counts that are too old; concurrent requests wait for the same query."""
        async with self._looking:
            if time.monotonic() - self._looked_at < FRESH_S:
                return
            load = await run_in_threadpool(self._box.load.load)
            waiting: Counter[_Counted] = Counter({_ALL: load.waiting})
            for shop, orders in load.by_shop.items():
                waiting["shop_orders", shop, ""] = orders
            for (shop, client), orders in load.by_client.items():
                for counted in _counted(shop, client):
                    if counted[0] not in ("shop_orders", "all"):  # already counted above
                        waiting[counted] += orders
            for (shop, client), orders in load.in_review.items():
                for counted in _counted(shop, client):
                    if counted[0] in ("visitor", "place"):
                        waiting[counted] += orders
            self._load, self._waiting, self._looked_at = load, waiting, time.monotonic()


def page_client(page: str, address: str, visitor: str) -> str:
    """Return the client of an order from a page; `page` is `page:` and its key, or `page` at `/`."""
    return f"{PAGE}{page}/{address}/{visitor}"


def _counted(shop: str, client: str) -> list[_Counted]:
    """Return the limits that one order of a client counts for, narrowest first."""
    shops: list[_Counted] = [("shop_orders", shop, ""), _ALL]
    if client.startswith(PAGE):
        place = ("place", shop, source_of(client) or "")
        return [("visitor", shop, client), place, ("pages", shop, ""), *shops]
    return [("client", shop, client), *shops]


def _working(shop: str, client: str) -> list[_Counted]:
    """Return the limits of seconds of work for an order of a client, narrowest first."""
    source, whole = source_of(client) or "", ("shop_seconds", shop, "")
    if client.startswith(PAGE):
        return [("address_seconds", shop, source), ("page_seconds", shop, PAGE), whole]
    return [("key_seconds", shop, source), whole]
