"""Customers who arrive at random (a Poisson process), each waiting only for their own order.

Clients that wait for a response before the next request would send less to a slow server; these don't.
"""

from __future__ import annotations

import asyncio
import random
import time
import uuid
from dataclasses import dataclass
from typing import Any

import httpx

from schemas import lifecycle
from tests.load.orders import spoken, written

SETTLED = {lifecycle.STATUS[state] for state in lifecycle.SETTLED}
PATIENCE_S = 120.0


@dataclass(frozen=True, slots=True)
class Plan:
    """`rate` orders a second for so many `seconds`, a share of them `spoken`, by these shops' `keys`."""

    rate: float
    seconds: float
    spoken: float
    keys: list[str]
    seed: int


async def come(url: str, plan: Plan) -> list[dict[str, Any]]:
    """Send orders for as long as the plan says, wait for all of them, and return what was seen of each."""
    chance = random.Random(plan.seed)
    texts, sounds = written(), spoken()
    started, at, orders = time.perf_counter(), 0.0, list[asyncio.Task[dict[str, Any]]]()
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=200)
    async with httpx.AsyncClient(base_url=url, timeout=60, limits=limits, trust_env=False) as client:
        while (at := at + chance.expovariate(plan.rate)) < plan.seconds:
            await asyncio.sleep(max(0.0, started + at - time.perf_counter()))
            body: dict[str, Any] = {"json": chance.choice(texts)}
            if chance.random() < plan.spoken:
                menu, sound = chance.choice(sounds)
                body = {"files": {"audio": ("order.flac", sound, "audio/flac")}, "data": {"menu": menu}}
            orders.append(asyncio.create_task(_order(client, chance.choice(plan.keys), body)))
        return await asyncio.gather(*orders)


async def _order(client: httpx.AsyncClient, key: str, body: dict[str, Any]) -> dict[str, Any]:
    """Send an order; return how long it took to be accepted and settled, and its status."""
    bearer = {"Authorization": f"Bearer {key}"}
    seen: dict[str, Any] = {}
    began = time.perf_counter()
    try:
        answer = await client.post(
            "/v1/orders", headers={**bearer, "Idempotency-Key": uuid.uuid4().hex}, **body
        )
    except httpx.TransportError as error:
        return {"status": type(error).__name__, "why": str(error)}
    seen |= {"accepted_s": time.perf_counter() - began, "status": answer.status_code}
    if answer.status_code != 202:
        return seen | {"why": answer.text[:200]}
    place = f"/v1/orders/{answer.json()['id']}"
    while time.perf_counter() - began < PATIENCE_S:
        try:
            shown = await client.get(place, params={"wait": 20}, headers=bearer)
            seen["end"] = shown.raise_for_status().json()["status"]
        except httpx.HTTPError:
            await asyncio.sleep(0.5)
            continue
        if seen["end"] in SETTLED:
            return seen | {"settled_s": time.perf_counter() - began}
    return seen
