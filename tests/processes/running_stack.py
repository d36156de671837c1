"""The running stack: real API, workers, Redis, Whisper and LLM in child processes.

End-to-end and browser tests share one: it takes half a minute and 4 GB to start.
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
    """Settings of a separate stack: an empty home and a free port."""
    return Settings(home=home, api_port=any_free(), **changes)


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with Stack(settings_in(tmp_path_factory.mktemp("stack"))) as running:
        yield running


@pytest.fixture(scope="session")
def client(stack: Stack) -> Iterator[httpx.Client]:
    with connected(stack) as client:
        yield client


@contextmanager
def connected(stack: Stack) -> Iterator[httpx.Client]:
    """Import the sample menus into a stack; yield its client."""
    with httpx.Client(
        base_url=stack.base_url, headers=header_at(stack.settings.database), timeout=60.0, trust_env=False
    ) as client:
        for menu_id, menu in load_menus().items():
            client.put(f"/v1/menus/{menu_id}", json=menu).raise_for_status()
        yield client


def follower(client: httpx.Client) -> Callable[[str], dict[str, Any]]:
    """Return a function that waits until an order is settled, and returns it."""

    def follow(order_id: str) -> dict[str, Any]:
        for _ in range(30):
            order: dict[str, Any] = client.get(f"/v1/orders/{order_id}", params={"wait": 20}).json()
            if order["status"] in SETTLED:
                return order
        raise AssertionError(f"order {order_id} does not settle: {order}")

    return follow


def gold_rows() -> list[dict[str, Any]]:
    return [json.loads(line) for line in (RECORDINGS / "gold.jsonl").read_text().splitlines() if line]
