"""Those who wait are woken by notices, or found by the fallback, and cost nothing meanwhile.

Where a notice must be what wakes them, the fallback is put off beyond the test's own patience.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import event, text

from infra.sql.notices import Heard
from schemas.lifecycle import Event
from services.api.waiting import room as waiting
from tests.integration.api_world import World, running
from tests.waiting import until

NEVER_S = 600.0
# What waits for a notice gets it within milliseconds; this only has to be far from both ends.
SOON_S = 10.0


class Deaf:
    """No notice ever comes."""

    async def run(self, _heard: Heard, _wanted: asyncio.Event) -> None:
        await asyncio.Event().wait()


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, database_url: str) -> Iterator[World]:
    """An API whose fallback does not come while a test lasts."""
    monkeypatch.setattr(waiting, "FALLBACK_S", NEVER_S)
    with running(tmp_path, database_url, client_backlog=0) as world:
        yield world


def waiters(world: World) -> waiting.Waiting:
    found: waiting.Waiting = world.server._app.state.waiting
    return found


@contextmanager
def polling(world: World, order_ids: list[str], **headers: str) -> Iterator[list[Any]]:
    """A long poll for each order, all known to the server; their futures."""
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


@contextmanager
def transactions(world: World) -> Iterator[Callable[[], int]]:
    """How many transactions the API's process has begun since."""
    begun = 0

    def count(_connection: Any) -> None:
        nonlocal begun
        begun += 1

    engine = world.parts.database._engine
    event.listen(engine, "begin", count)
    try:
        yield lambda: begun
    finally:
        event.remove(engine, "begin", count)


def test_a_step_that_does_not_settle_is_waited_through(told: World) -> None:
    order_id = told.text()["id"]
    with polling(told, [order_id]) as (poll,):
        assert "saycart_clients_waiting 1.0" in told.http.get("/metrics").text
        told.advance(order_id, Event.DECODED)
        time.sleep(0.3)
        assert not poll.done()
        told.advance(order_id, Event.ACCEPTED)
        assert poll.result(SOON_S).json()["status"] == "completed"


def test_a_change_of_the_review_alone_wakes_who_knows_the_order(told: World) -> None:
    order_id, review_id = told.doubted()
    tag = told.http.get(f"/v1/orders/{order_id}").headers["etag"]
    with polling(told, [order_id], If_None_Match=tag) as (poll,):
        told.parts.reviews.claim(review_id, "ada", 60)
        answer = poll.result(SOON_S)
    assert answer.status_code == 200
    assert answer.json()["review"]["claimed_by"] == "ada"


def test_waiting_costs_no_transactions(tmp_path: Path, database_url: str) -> None:
    """With the fallback as it is: one query in about two seconds, however many wait."""
    with running(tmp_path, database_url, client_backlog=0) as world:
        orders = [world.text()["id"] for _ in range(60)]
        with polling(world, orders) as polls:  # more than the 40 threads that the server has
            assert world.http.get("/v1/orders?limit=1", timeout=SOON_S).status_code == 200
            time.sleep(1)
            with transactions(world) as begun:
                time.sleep(4)
                assert begun() <= 4
            for order_id in orders:
                world.parts.orders.cancel(order_id)
            assert {poll.result(SOON_S).json()["status"] for poll in polls} == {"cancelled"}


def test_without_a_listener_the_fallback_answers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, database_url: str
) -> None:
    monkeypatch.setattr(waiting, "FALLBACK_S", 0.3)
    monkeypatch.setattr("tests.integration.api_world.Parts.notices", Deaf(), raising=False)
    with running(tmp_path, database_url) as world:
        order_id, review_id = world.doubted()
        tag = world.http.get(f"/v1/orders/{order_id}").headers["etag"]
        other = world.text()["id"]
        with polling(world, [order_id], If_None_Match=tag) as (known,), polling(world, [other]) as (poll,):
            world.parts.reviews.claim(review_id, "ada", 60)
            world.advance(other, Event.BROKE)
            assert known.result(SOON_S).json()["review"]["claimed_by"] == "ada"
            assert poll.result(SOON_S).json()["status"] == "error"


def test_who_goes_away_is_forgotten(told: World) -> None:
    order_id = told.text()["id"]
    with pytest.raises(httpx.ReadTimeout):
        told.http.get(f"/v1/orders/{order_id}?wait=25", timeout=0.5)
    with told.http.stream("GET", f"/v1/orders/{order_id}/events") as stream:
        lines = stream.iter_lines()  # one that nobody holds is closed, and the stream with it
        next(lines)
        until(lambda: waiters(told).watchers == 1)
    until(lambda: waiters(told).watchers == 0)
    assert not waiters(told)._orders


def test_an_order_that_is_not_there_is_not_waited_for(told: World) -> None:
    assert told.http.get("/v1/orders/ord_none?wait=25", timeout=SOON_S).status_code == 404
    assert not waiters(told)._orders


def test_a_listener_that_was_cut_off_listens_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, postgresql: Any, migrated_postgresql: str
) -> None:
    monkeypatch.setattr(waiting, "FALLBACK_S", NEVER_S)
    postgresql.empty(migrated_postgresql)
    with running(tmp_path, postgresql.url(migrated_postgresql)) as world:

        def listening() -> list[int]:
            with world.parts.database.everywhere().read() as session:
                found = (
                    "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query LIKE :q"
                )
                return list(session.scalars(text(found), {"q": "LISTEN %"}))

        orders = [world.text()["id"] for _ in range(2)]
        until(lambda: len(listening()) == 1)
        first = listening()
        with polling(world, orders) as (missed, heard):
            with world.parts.database.everywhere().write() as session:
                session.execute(text("SELECT pg_terminate_backend(:pid)"), {"pid": first[0]})
            # While nobody listens: told when the connection is there again.
            world.advance(orders[0], Event.BROKE)
            assert missed.result(SOON_S).json()["status"] == "error"
            until(lambda: len(listening()) == 1 and listening() != first)
            world.advance(orders[1], Event.BROKE)
            assert heard.result(SOON_S).json()["status"] == "error"


def test_a_database_that_was_away_is_waited_for_and_then_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, postgresql: Any, migrated_postgresql: str
) -> None:
    """Who waits is not sent away by an outage that passes; who asks meanwhile is."""
    monkeypatch.setattr(waiting, "FALLBACK_S", 0.3)
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
