"""Who may hand in an order now: refusals while too much waits, and one request at a time for a key.

All is asked before the body is read. The counts are this process's own look at the database, at most
`FRESH_S` old, plus what it has let in since. With several API processes a burst can pass a limit by what
they let in within that time; the limits keep waiting times sane, and nothing leans on their being exact.

Where a process comes to store orders late, too little is left of the machine or the database, and each order
more that it takes in makes all of them later, until clients give up on what is stored in the end. So it
refuses some at once instead.
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

from schemas.errors import IdempotencyInFlight, IntakeLate, Overloaded, SaycartError, TooManyOrders
from schemas.shops.source import PAGE, source_of
from services.api.gate.limits import amounts
from services.api.gate.pace import Paced
from services.bootstrap import Container
from services.storage.orders.load import Load

log = structlog.get_logger(__name__)

FRESH_S = 0.5
# Seconds to wait when no order was finished in the last minute, so that nothing was measured.
UNMEASURED_S = 15.0
MAX_WAIT_S = 600
_Counted = tuple[str, str, str]  # name of the limit, shop, whose
_ALL: _Counted = ("all", "", "")
# Seconds until the first request under a key has probably ended.
IN_FLIGHT_S = 1
# An order is late that has come whole and is not stored so many seconds later: ten times the objective.
LATE_S = 1.0
# Until another try, at most, where orders are stored late.
LATE_AGAIN_S = 4


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
        config = box.settings
        self._box = box
        self._most = amounts(config)
        self._load = Load()
        self._waiting: Counter[_Counted] = Counter()
        self._looked_at = -math.inf
        self._looking = anyio.Lock()
        self._keys: set[tuple[str, str, str]] = set()
        self._most_late = config.late_orders
        self._in_hand: set[Paced] = set()
        refusals = (TooManyOrders, Overloaded, IntakeLate, IdempotencyInFlight)
        self.refused = Counter({error.code: 0 for error in refusals})

    @asynccontextmanager
    async def admitted(
        self, shop: str, client: str, keys: str, key: str | None, body: Paced
    ) -> AsyncIterator[None]:
        """Around the whole taking in of one order of the shop. `client`: whose backlog it adds to; `keys`:
        the space of its idempotency key; `body`: what it is read from.

        A repeat of an accepted key is let through however much waits: its client must learn that the order
        is in, and it adds nothing.

        Raises:
            IdempotencyInFlight: another request of this process has the key.
            TooManyOrders, Overloaded: too much waits, of this client's, of its shop's, or in all.
            IntakeLate: orders that came before are stored late.
            StorageUnavailable: the database does not answer; it would not take the order either.
        """
        self._keep_up()
        held = (shop, keys, key) if key else None
        if held in self._keys:
            in_flight = "The first request with this Idempotency-Key is still running."
            self._refuse(IdempotencyInFlight(in_flight, wait_s=IN_FLIGHT_S))
        if held:
            self._keys.add(held)
        self._in_hand.add(body)
        try:
            await self._admit((shop, client), keys, key)
            yield
        finally:
            # However it ends: refused, cut off by its client, or stored.
            self._in_hand.discard(body)
            if held:
                self._keys.discard(held)

    def _keep_up(self) -> None:
        """Let no order in while too many are late, not even a repeat of an accepted key: to know it
        takes the same threads and database that are late already, and its client comes again."""
        came_by = time.monotonic() - LATE_S
        late = sum(body.whole_at is not None and body.whole_at < came_by for body in self._in_hand)
        if self._most_late and late >= self._most_late:
            self._refuse(IntakeLate(late, random.uniform(1, LATE_AGAIN_S)))  # noqa: S311 (no secret)

    async def _admit(self, client: tuple[str, str], keys: str, key: str | None) -> None:
        if not any(self._most[name] for name, _, _ in _limited(*client)):
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
        self.refused[refusal.code] += 1
        raise refusal

    def _refusal(self, client: tuple[str, str]) -> TooManyOrders | Overloaded | None:
        for counted in _limited(*client):
            most, waiting = self._most[counted[0]], self._waiting[counted]
            if most and waiting >= most:
                kind = Overloaded if counted == _ALL else TooManyOrders
                return kind(waiting, wait_s(self._load))
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
            for (shop, source), orders in load.in_review.items():
                waiting["reviews", shop, source] = orders
            self._load, self._waiting, self._looked_at = load, waiting, time.monotonic()


def page_client(page: str, address: str, visitor: str) -> str:
    """Whose backlog an order from a page adds to. `page`: the family of its key, empty at `/`."""
    return f"{PAGE}{page}/{address}/{visitor}"


def _limited(shop: str, client: str) -> list[_Counted]:
    """All counts by which an order is refused. One that is let in adds nothing to those in review, where most
    never come."""
    found = _counted(shop, client)
    if client.startswith(PAGE):
        found.append(("reviews", shop, source_of(client) or ""))
    return found


def _counted(shop: str, client: str) -> list[_Counted]:
    """All that one order of a client counts for, the narrowest first."""
    shops: list[_Counted] = [("shop_orders", shop, ""), _ALL]
    if not client.startswith(PAGE):
        return [("client", shop, client), *shops]
    return [
        ("place", shop, source_of(client) or ""),
        ("pages", shop, ""),
        *shops,
    ]
