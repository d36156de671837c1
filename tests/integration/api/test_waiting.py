"""Waiting clients learn of every change, whatever its origin, and cost little meanwhile."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from schemas.lifecycle import Event
from services.api.waiting import watch as waiting
from tests.counted_messages import counted
from tests.integration import api_world
from tests.integration.api_world import World, running
from tests.waiting import until

own_world = api_world.own_world
SOON_S = 10.0


def waiters(world: World) -> waiting.Waiting:
    found: waiting.Waiting = world.server._app.state.waiting
    return found


@contextmanager
def polling(world: World, order_ids: list[str], **headers: str) -> Iterator[list[Any]]:
    """Start a long poll for each order; yield their futures."""
    before = waiters(world).watchers

    def poll(order_id: str) -> httpx.Response:
        url = f"{world.url}/v1/orders/{order_id}?wait=25"
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        return httpx.get(url, headers=world.people["ada"] | sent, timeout=40)

    with ThreadPoolExecutor(len(order_ids)) as pool:
        polls = [pool.submit(poll, order_id) for order_id in order_ids]
        until(lambda: waiters(world).watchers == before + len(order_ids), 15)
        time.sleep(0.3)  # for the first look
        yield polls


def test_a_wait_continues_until_the_order_settles(own_world: World) -> None:
    order_id = own_world.text()["id"]
    with polling(own_world, [order_id]) as (poll,):
        assert "saycart_clients_waiting 1.0" in own_world.http.get("/metrics").text
        own_world.advance(order_id, Event.DECODED)
        time.sleep(0.3)
        assert not poll.done()
        own_world.advance(order_id, Event.ACCEPTED)
        assert poll.result(SOON_S).json()["status"] == "completed"


def test_a_change_of_the_review_ends_a_wait(own_world: World) -> None:
    order_id, review_id = own_world.doubted()
    tag = own_world.http.get(f"/v1/orders/{order_id}").headers["etag"]
    with polling(own_world, [order_id], If_None_Match=tag) as (poll,):
        own_world.parts.reviews.claim(review_id, "ada", 60)
        answer = poll.result(SOON_S)
    assert answer.status_code == 200
    assert answer.json()["review"]["claimed_by"] == "ada"


def test_many_waits_share_one_query(tmp_path: Path, database_url: str) -> None:
    with running(tmp_path, database_url, client_backlog=0) as world:
        orders = [world.text()["id"] for _ in range(60)]
        with polling(world, orders) as polls:  # more than the 40 threads that the server has
            assert world.http.get("/v1/orders?limit=1", timeout=SOON_S).status_code == 200
            time.sleep(1)
            with counted(world.parts.database) as messages:
                time.sleep(4)
            assert 2 <= messages["BEGIN"] <= 60
            for order_id in orders:
                world.parts.orders.cancel(order_id)
            assert {poll.result(SOON_S).json()["status"] for poll in polls} == {"cancelled"}


def test_disconnected_clients_are_forgotten(own_world: World) -> None:
    order_id = own_world.text()["id"]
    with pytest.raises(httpx.ReadTimeout):
        own_world.http.get(f"/v1/orders/{order_id}?wait=25", timeout=0.5)
    with own_world.http.stream("GET", f"/v1/orders/{order_id}/events") as stream:
        lines = stream.iter_lines()  # one that nobody holds is closed, and the stream with it
        next(lines)
        until(lambda: waiters(own_world).watchers == 1)
    until(lambda: waiters(own_world).watchers == 0)
    assert not waiters(own_world)._orders
    with counted(own_world.parts.database) as messages:
        time.sleep(1.2)
    assert not messages


def test_an_unknown_order_is_not_awaited(own_world: World) -> None:
    assert own_world.http.get("/v1/orders/ord_none?wait=25", timeout=SOON_S).status_code == 404
    assert not waiters(own_world)._orders


def test_a_wait_survives_a_short_outage(tmp_path: Path, postgresql: Any, migrated_postgresql: str) -> None:
    """A short outage does not end a wait; new requests fail meanwhile."""
    postgresql.empty(migrated_postgresql)
    with running(tmp_path, postgresql.url(migrated_postgresql)) as world:
        order_id = world.text()["id"]
        with polling(world, [order_id]) as (poll,):
            postgresql.kill()
            time.sleep(1)
            assert world.http.get(f"/v1/orders/{order_id}").status_code == 503
            assert world.http.get(f"/v1/orders/{order_id}?wait=5").status_code == 503
            assert not poll.done()
            postgresql.start()
            until(lambda: world.http.get(f"/v1/orders/{order_id}").status_code == 200, 20)
            world.advance(order_id, Event.BROKE)
            assert poll.result(SOON_S).json()["status"] == "error"
