"""Rate limits shared by processes in Redis, and local counts while Redis is down."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from infra import rates
from infra.processes.ports import any_free
from infra.rates import Counts
from infra.redis.server import binary
from tests.integration import api_world
from tests.integration.api_world import World, running
from tests.waiting import in_one_minute, until


class Shared:
    """The wheel's Redis, configured like an operator's: with a password and scripts."""

    def __init__(self, folder: Path) -> None:
        self.port, self.folder = any_free(), folder
        self.url = f"redis://:secret@127.0.0.1:{self.port}/0"
        self.start()

    def start(self) -> None:
        words = (
            f"--port {self.port} --bind 127.0.0.1 --requirepass secret --appendonly no --dir {self.folder}"
        )
        self.process = subprocess.Popen(
            [str(binary()), *words.split(), "--save", ""], stdout=subprocess.DEVNULL
        )
        until(self.answers, 10)

    def answers(self) -> bool:
        try:
            with redis.Redis.from_url(self.url) as client:
                return bool(client.ping())
        except redis.RedisError:
            return False

    def stop(self) -> None:
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[Shared]:
    server = Shared(tmp_path)
    yield server
    server.stop()


@pytest.mark.anyio
async def test_processes_share_counts(shared: Shared, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates, "TIMEOUT_S", 2.0)  # eighty at once, and no connection yet
    one, other = Counts(shared.url), Counts(shared.url)
    asked = [counts.hit(50, "key/k") for _ in range(40) for counts in (one, other)]
    assert sum(await asyncio.gather(*asked)) == 50
    assert (await other.left(50, "key/another")).remaining == 50
    left = await one.left(50, "key/k")
    assert left.remaining == 0
    assert 50 < left.wait_s <= 62
    await one.close()
    await other.close()


@pytest.mark.anyio
async def test_a_hanging_redis_is_awaited_once(shared: Shared) -> None:
    """Frozen, it accepts connections and never answers: worse than being down."""
    in_one_minute()
    counts = Counts(shared.url)
    async with asyncio.timeout(30):
        assert await counts.hit(3, "key/k")
        os.kill(shared.process.pid, signal.SIGSTOP)
        began = time.monotonic()
        assert [await counts.hit(3, "key/k") for _ in range(5)] == [True] * 3 + [False] * 2
        assert time.monotonic() - began < 4 * rates.TIMEOUT_S
        os.kill(shared.process.pid, signal.SIGCONT)
        await asyncio.sleep(rates.RETRY_S)
        # It had counted one before, and the one that timed out.
        assert [await counts.hit(3, "key/k") for _ in range(3)] == [True, False, False]
    await counts.close()


@pytest.fixture
def world(tmp_path: Path, shared: Shared) -> Iterator[World]:
    with running(tmp_path / "home", limits_url=shared.url, key_requests_per_minute=40) as world:
        yield world


def test_orders_are_accepted_while_redis_is_down(
    world: World, shared: Shared, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rates, "RETRY_S", 0.2)
    in_one_minute()
    assert world.text()["status"]
    with redis.Redis.from_url(shared.url) as client:
        assert client.keys(), "nothing was counted there"
    shared.stop()
    began = time.monotonic()
    answers = [
        world.http.post("/v1/orders", json={"transcript": "a latte", "menu": api_world.MENU["id"]})
        for _ in range(42)
    ]
    assert time.monotonic() - began < 20
    assert [answer.status_code for answer in answers] == [202] * 40 + [429] * 2, "each process for itself"
    shared.start()
    rates_ = world.server._app.state.rates
    until(lambda: time.monotonic() >= rates_._counts._retry_at, 10)
    assert world.http.get("/v1/menus").status_code == 200
    with redis.Redis.from_url(shared.url) as client:
        assert any(b"key/" in key for key in client.scan_iter())
