"""Rate limits of requests and bytes, by key, shop, page, order and address.

A request counts for its key after that key's look-up, and without one for its address at once. Wrong keys and
unmatched paths count for the address apart from its pages, so that a till with a revoked key doesn't lock out
customers. Probes, static files and responses from memory are not limited.
"""

from __future__ import annotations

from fastapi import Request

from infra.rates import Counts, Left
from infra.settings import Settings
from schemas.errors import SaycartError, TooManyRequests
from services.api.deps import address
from services.api.gate.limits import LIMITS, amounts, refusal_counter

Payer = tuple[str, str]
"""Name of a limit and whom it counts: `("key", "key:abc")`."""


class Rates:
    """The rate limits of one app, for its event loop. `refused` counts refusals by limit, for /metrics."""

    def __init__(self, config: Settings) -> None:
        """Raises ValueError if `limits_url` is invalid."""
        names = [limit.name for limit in LIMITS.values() if limit.span_s]
        self._amounts = amounts(config)
        self._counts = Counts(config.limits_url)
        description = "requests refused by a per-minute limit"
        self.refused = refusal_counter("requests_limited", description, "limit", names)

    async def close(self) -> None:
        await self._counts.close()

    async def count(self, *payers: Payer, cost: int = 1) -> None:
        """Count a request, or bytes, for each of the payers.

        Raises:
            TooManyRequests: a payer is over its limit; those after it are not counted.
        """
        for payer in payers:
            amount, key, span_s = self._limit(payer)
            if amount and not await self._counts.hit(amount, key, cost=cost, span_s=span_s):
                left = await self._counts.left(amount, key, cost=cost, span_s=span_s)
                raise self._refusal(payer, left)

    async def check(self, *payers: Payer, cost: int) -> None:
        """As `count`, without counting: the cost is only announced."""
        for payer in payers:
            amount, key, span_s = self._limit(payer)
            needed = min(cost, amount)
            if needed:
                left = await self._counts.left(amount, key, cost=needed, span_s=span_s)
                if left.remaining < needed:
                    raise self._refusal(payer, left)

    def _limit(self, payer: Payer) -> tuple[int, str, int]:
        return self._amounts[payer[0]], "/".join(payer), LIMITS[payer[0]].span_s

    def _refusal(self, payer: Payer, left: Left) -> TooManyRequests:
        self.refused.labels(payer[0]).inc()
        return TooManyRequests(LIMITS[payer[0]].message, left.wait_s)


def rates_of(request: Request) -> Rates:
    rates: Rates = request.app.state.rates
    return rates


async def count_address(request: Request) -> None:
    """Count a request without a credential, for public routes; raises TooManyRequests."""
    await rates_of(request).count(("address", address(request)))


async def count_refusal(request: Request, refusal: SaycartError) -> SaycartError:
    """Count a request with a wrong key or an unmatched path; return `refusal`, or TooManyRequests."""
    try:
        await rates_of(request).count(("address", f"refused {address(request)}"))
    except TooManyRequests as error:
        return error
    return refusal
