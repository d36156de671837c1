"""The queue and the limits by way of real Sentinels, while the master dies and another takes its place."""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import pytest
import redis
from kombu.simple import SimpleQueue

from infra import rates
from infra.rates import Counts
from infra.redis.address import redis_address
from infra.redis.broker import BrokerAway, make_celery, messages, send
from infra.redis.server import binary
from infra.settings import Settings
from infra.sql.database import Database
from services.bootstrap import Container
from services.workers.sweeper import sweep
from tests.clock import in_one_minute
from tests.servers.redis_sentinel import MASTER, PASSWORD, SENTINEL_PASSWORD, Watched
from tests.stand_ins import Works
from tests.waiting import until


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    made = Watched(tmp_path)
    yield made
    made.stop()


def url_of(watched: Watched) -> str:
    return (
        f"redis+sentinel://:{quote(PASSWORD, safe='')}@{watched.sentinels}/1"
        f"?master={MASTER}&sentinel_password={quote(SENTINEL_PASSWORD, safe='')}"
    )


def until_sent(app: object, order: str) -> None:
    end = time.monotonic() + 30
    while True:
        try:
            return send(app, "saycart.decode", (order, "decode"), queue="decode")  # type: ignore[arg-type]
        except BrokerAway:
            assert time.monotonic() < end, "nothing is taken"
            time.sleep(0.05)


def take(queue: SimpleQueue) -> str:
    message = queue.get(timeout=5)
    message.ack()
    return str(message.payload[0][0])


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_the_master_dies_and_orders_go_on(
    watched: Watched, database: Database, database_url: str, tmp_path: Path
) -> None:
    url = url_of(watched)
    parts = Container(Settings(home=tmp_path, database_url=database_url, redis_url=url, limits_url=url))
    world = Works(database, parts.blobs)
    app = make_celery(url)
    first, second = world.typed(), world.typed()
    until(lambda: parts.ready()["queue"] == "ok")
    with app.connection_for_read() as connection:
        queue = connection.SimpleQueue("decode")
        until_sent(app, first)
        until_sent(app, second)
        assert set(messages(app, ["decode"], fresh_s=30)) == {
            ("saycart.decode", (o, "decode")) for o in (first, second)
        }
        assert take(queue) == first
        assert sweep(parts, idle_s=0) == 1, "the first is done with, as its message says"
        with redis_address(url).client(1, 1) as client:
            assert client.connection_pool.connection_kwargs["db"] == 1
            client.delete("decode")  # what was sent a moment before the master died, and not passed on
        watched.kill("master")
        watched.until_promoted()
        end = time.monotonic() + 20
        until(lambda: parts.doorbell.held(30) is not None)
        # Lost with it, and found in SQL.
        assert sweep(parts, idle_s=0) == 2
        got: set[str] = set()
        while len(got) < 2:
            assert time.monotonic() < end
            with suppress(redis.RedisError, OSError):
                got.add(take(queue))
        assert got == {first, second}
    watched.kill("replica")
    until(lambda: parts.ready()["queue"] == "no answer")
    with pytest.raises(BrokerAway):
        messages(app, ["decode"], fresh_s=30)
    parts.close()


def test_limits_are_counted_by_the_master_that_there_is(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rates, "AGAIN_S", 0.3)
    monkeypatch.setattr(rates, "PATIENCE_S", 2.0)  # eighty at once, and no connection yet
    in_one_minute()

    async def steps() -> None:
        one, other = Counts(url_of(watched)), Counts(url_of(watched))
        asked = [counts.hit(50, "key/k") for _ in range(40) for counts in (one, other)]
        assert sum(await asyncio.gather(*asked)) == 50
        watched.kill("master")
        assert await one.hit(50, "key/k"), "this process counts for itself"
        await other.hit(50, "key/k")
        while one._away or other._away:
            await asyncio.sleep(0.05)
        assert await one.hit(1, "key/new")
        assert not await other.hit(1, "key/new"), "both count there"
        await one.close()
        await other.close()

    asyncio.run(asyncio.wait_for(steps(), 30))


def test_a_queue_behind_a_unix_socket(tmp_path: Path) -> None:
    path = tmp_path / "redis.sock"
    server = subprocess.Popen(
        [str(binary()), "--port", "0", "--unixsocket", str(path), "--save", "", "--requirepass", "pw"],
        stdout=subprocess.DEVNULL,
        cwd=tmp_path,
    )
    try:
        until(path.exists, 10)
        app = make_celery(f"unix://:pw@{path}?db=1")
        send(app, "saycart.decode", ("ord_1", "decode"), queue="decode")
        assert set(messages(app, ["decode"], fresh_s=30)) == {("saycart.decode", ("ord_1", "decode"))}
        assert asyncio.run(_hit(Counts(f"unix://:pw@{path}?db=1")))
    finally:
        server.kill()
        server.wait()


async def _hit(counts: Counts) -> bool:
    try:
        return await counts.hit(1, "key/k") and not await counts.hit(1, "key/k") and not counts._away
    finally:
        await counts.close()
