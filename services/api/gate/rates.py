"""Limits of what is sent in a span of time: requests and bytes, by key, shop, page, order and address.

Counted where the caller becomes known and before anything dear is done for them: who shows nothing
by address, at once; who shows a key by that key, after the one look-up that tells whose it is. A wrong key
counts for its address, and so does what no route answers, apart from what its pages are asked for: a till
with a revoked key shuts no customer out. Nothing else is limited here: not probes, not files
of ours, not what answers from memory.
"""

from __future__ import annotations

from fastapi import Request

from infra.rates import Counts, Left
from infra.settings import Settings
from schemas.errors import SaycartError, TooManyRequests
from services.api.deps import address
from services.api.gate.limits import LIMITS, amounts, refusals

Payer = tuple[str, str]
"""Name of a limit, and who it counts: `("key", "key:abc")`."""


class Rates:
    """One for each app, all of it on its event loop. `refused` counts refusals by limit, for /metrics."""

    def __init__(self, wanted: Settings) -> None:
        """
        Raises:
            ValueError: `limits_url` can't be read.
        """
        names = [limit.name for limit in LIMITS.values() if limit.span_s]
        self._most = amounts(wanted)
        self._counts = Counts(wanted.limits_url)
        self.refused = refusals("requests_limited", "requests refused by a per-minute limit", "limit", names)

    async def close(self) -> None:
        await self._counts.close()

    async def count(self, *payers: Payer, cost: int = 1) -> None:
        """Count a request, or bytes, for each of the payers.

        Raises:
            TooManyRequests: one of them is over its limit; those after it are not counted.
        """
        for payer in payers:
            most, key, span_s = self._limit(payer)
            if most and not await self._counts.hit(most, key, cost=cost, span_s=span_s):
                left = await self._counts.left(most, key, cost=cost, span_s=span_s)
                raise self._refusal(payer, left)

    async def check(self, *payers: Payer, cost: int) -> None:
        """As `count`, and nothing is counted: for what may still not come."""
        for payer in payers:
            most, key, span_s = self._limit(payer)
            asked = min(cost, most)
            if asked:
                left = await self._counts.left(most, key, cost=asked, span_s=span_s)
                if left.remaining < asked:
                    raise self._refusal(payer, left)

    def _limit(self, payer: Payer) -> tuple[int, str, int]:
        return self._most[payer[0]], "/".join(payer), LIMITS[payer[0]].span_s

    def _refusal(self, payer: Payer, left: Left) -> TooManyRequests:
        self.refused.labels(payer[0]).inc()
        return TooManyRequests(LIMITS[payer[0]].says, left.wait_s)


def rates_of(request: Request) -> Rates:
    kept: Rates = request.app.state.rates
    return kept


async def by_address(request: Request) -> None:
    """Count a request that shows nothing; a dependency for routes that are open to all.

    Raises:
        TooManyRequests: too many came from there.
    """
    await rates_of(request).count(("address", address(request)))


async def counted(request: Request, refusal: SaycartError) -> SaycartError:
    """Count a request that is refused for its key, or for want of a route; return `refusal`, or that too many
    came."""
    try:
        await rates_of(request).count(("address", f"refused {address(request)}"))
    except TooManyRequests as error:
        return error
    return refusal
