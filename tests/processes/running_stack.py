"""The running stack: its real API, workers, Redis, Whisper and LLM, in child processes of this session.

One stack serves the end-to-end tests and the browser tests: starting it costs half a minute and 4 GB.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from infra.processes.ports import any_free
from infra.settings import REPOSITORY, Settings
from schemas import lifecycle
from services.cli.samples import load_menus
from services.workers.stack import Stack
from tests.credentials import header_at

RECORDINGS = REPOSITORY / "infra" / "samples" / "recordings"
SETTLED = {lifecycle.STATUS[state] for state in lifecycle.SETTLED}


def settings_in(home: Path, **changes: Any) -> Settings:
    """Settings of a stack of its own: an empty home and a free port."""
    return Settings(home=home, api_port=any_free(), **changes)


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    yield from started(tmp_path_factory)


def started(tmp_path_factory: pytest.TempPathFactory, **changes: Any) -> Iterator[Stack]:
    """Reviews are held for a short time, so that tests see a claim lapse."""
    home = tmp_path_factory.mktemp("stack")
    with Stack(settings_in(home, review_lease_s=12, **changes)) as running:
        yield running


@pytest.fixture(scope="session")
def client(stack: Stack) -> Iterator[httpx.Client]:
    with connected(stack) as client:
        yield client


@contextmanager
def connected(stack: Stack, *menus: str) -> Iterator[httpx.Client]:
    """A client of a stack that has the sample menus, or of them only those that are named: each is read by
    the model before the first order, which takes seconds."""
    with httpx.Client(
        base_url=stack.base_url, headers=header_at(stack.settings.database), timeout=60.0, trust_env=False
    ) as client:
        sample = load_menus()
        for menu_id in menus or sample:
            client.put(f"/v1/menus/{menu_id}", json=sample[menu_id]).raise_for_status()
        yield client


@pytest.fixture(scope="session")
def settle(client: httpx.Client) -> Callable[[str], dict[str, Any]]:
    return follower(client)


def follower(client: httpx.Client) -> Callable[[str], dict[str, Any]]:
    """Follows an order to where nothing more happens without a human."""

    def follow(order_id: str) -> dict[str, Any]:
        for _ in range(30):
            order: dict[str, Any] = client.get(f"/v1/orders/{order_id}", params={"wait": 20}).json()
            if order["status"] in SETTLED:
                return order
        raise AssertionError(f"order {order_id} does not settle: {order}")

    return follow


def gold_rows() -> list[dict[str, Any]]:
    return [json.loads(line) for line in (RECORDINGS / "gold.jsonl").read_text().splitlines() if line]
