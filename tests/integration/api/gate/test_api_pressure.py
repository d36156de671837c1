"""Backlog limits: who is refused, with which response, and who is accepted nevertheless."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from infra.sql.database import Database
from schemas.lifecycle import Event
from services.api.gate import pressure
from services.storage.orders.load import Load, LoadStore
from tests.integration.api_world import MENU, World, expect_problem, running
from tests.waiting import until

TEXT = {"transcript": "a latte", "menu": MENU["id"]}


@pytest.fixture
def small(tmp_path: Path, database_url: str) -> Iterator[World]:
    """An API with limits of three waiting orders per client and five in total."""
    with running(tmp_path, database_url, client_backlog=3, address_backlog=3, max_backlog=5) as world:
        yield world


def post(world: World, client: str = "ann", key: str | None = None) -> httpx.Response:
    headers = world.bearing(client) | ({"Idempotency-Key": key} if key else {})
    return world.http.post("/v1/orders", json=TEXT, headers=headers)


def begun(world: World) -> socket.socket:
    """Open a connection and send only the headers of a spoken order."""
    line = socket.create_connection(("127.0.0.1", world.port), timeout=10)
    line.sendall(
        b"POST /v1/orders HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900000\r\n"
        b"Content-Type: multipart/form-data; boundary=B\r\n" + world.line("ann") + b"\r\n"
    )
    return line


def test_a_client_with_too_many_waiting_is_refused(small: World) -> None:
    orders = [post(small).json()["id"] for _ in range(3)]
    refused = post(small)
    found = expect_problem(refused, 429, "too_many_orders")
    assert found["retryable"]
    assert found["detail"].startswith("3 orders from here are already waiting")
    # Nothing is finished yet, so there is no measured throughput.
    assert 12 <= int(refused.headers["retry-after"]) <= 18
    assert post(small, "bob").status_code == 202
    small.parts.orders.cancel(orders[0])
    until(lambda: post(small).status_code == 202)
    expect_problem(post(small), 429, "too_many_orders")


def test_too_many_of_all_clients_together(small: World) -> None:
    for number in range(5):
        assert post(small, f"client {number}").status_code == 202
    refused = post(small, "one more")
    assert expect_problem(refused, 503, "overloaded")["retryable"]
    assert int(refused.headers["retry-after"]) > 2
    shown = small.http.get("/metrics").text
    assert "saycart_orders_waiting 5.0" in small.http.get("/metrics/database").text
    assert 'saycart_orders_refused_total{code="overloaded"} 1.0' in shown
    assert 'saycart_orders_refused_total{code="too_many_orders"} 0.0' in shown


def test_a_repeated_key_is_accepted_under_pressure(small: World) -> None:
    first = post(small, key="k").json()["id"]
    for _ in range(2):
        post(small)
    repeat = post(small, key="k")
    assert repeat.status_code == 202
    assert repeat.json()["id"] == first
    expect_problem(post(small, key="another"), 429, "too_many_orders")
    # Idempotency keys belong to a client.
    for _ in range(2):
        assert post(small, "bob").status_code == 202
    expect_problem(post(small, "carl", key="k"), 503, "overloaded")


def test_a_refusal_does_not_wait_for_the_body(small: World) -> None:
    for _ in range(3):
        post(small)
    with begun(small) as line:
        assert b" 429 " in line.recv(65_536).split(b"\r\n")[0]
    assert small.recordings == []


def test_zero_means_unlimited(tmp_path: Path) -> None:
    with running(tmp_path, client_backlog=0, shop_backlog=0, max_backlog=0) as world:
        world.parts.load = LoadStore(Database("postgresql://127.0.0.1:1/none"))  # must not be queried
        for _ in range(4):
            assert post(world).status_code == 202


@pytest.mark.parametrize(
    ("waiting", "left", "low", "high"),
    [
        (120, 60, 48, 72),  # one a second: half of 120 in a minute
        (2000, 6000, 8, 12),
        (3, 6000, 1, 1),  # never less than a second
        (100_000, 1, 600, 600),  # nor more than ten minutes
        (50, 0, 12, 18),  # nothing measured
    ],
)
def test_retry_after_follows_backlog_and_throughput(waiting: int, left: int, low: int, high: int) -> None:
    seen = {pressure.wait_s(Load(waiting, left=left)) for _ in range(200)}
    assert low <= min(seen) <= max(seen) <= high
    assert len(seen) > 1 or low == high, "all would come back at once"


def test_waiting_orders_are_counted(small: World) -> None:
    orders = [post(small, client).json()["id"] for client in ("ann", "ann", "bob")]
    small.advance(orders[1], Event.DOUBTED, reasons=())
    counted = small.parts.load.load()
    assert (counted.waiting, counted.left) == (2, 1)
    assert sorted(counted.by_client.values()) == [1, 1]
