"""How often an order goes to the database and to Redis: counts. `make bench-overhead` has the times."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from fastapi.testclient import TestClient

from infra.blobs.folder import BlobFolder
from infra.processes.ports import any_free
from infra.processes.supervisor import Child, Supervisor
from infra.redis.server import EmbeddedRedis
from infra.settings import Settings
from infra.sql.database import Database
from schemas.lifecycle import State
from services.api.app import create_app
from services.bootstrap import Container
from services.workers.stack import as_environment
from services.workers.worker import celery_argv
from tests.counted_messages import counted
from tests.credentials import header_for
from tests.stand_ins import CAFE, SAID, Bell, Works
from tests.waiting import until

# Whose turn it is, and the clocks that say so, are 14 of them.
SQL_MESSAGES, REDIS_COMMANDS = 40, 10
ORDER = {"transcript": SAID, "menu": CAFE.id}
# What a worker sends whether or not there is work, and what the test itself asks.
IDLE = {"info", "config|resetstat", "ping", "hello", "client|setinfo", "llen", "hlen"}


class Quiet(Container):
    """The real container, whose bell nobody hears."""

    bell = Bell()

    @property
    def doorbell(self) -> Bell:  # type: ignore[override]
        return self.bell


@pytest.mark.parametrize("key", [None, "till-7"], ids=["no key", "with a key"])
def test_an_order_of_text_is_few_messages(
    database: Database, database_url: str, tmp_path: Path, key: str | None
) -> None:
    world = Works(database, BlobFolder(tmp_path / "blobs"))
    parts = Quiet(Settings(home=tmp_path, database_url=database_url))
    headers = {"Idempotency-Key": key} if key else {}
    try:
        heads = header_for(database)
        with TestClient(create_app(parts), base_url="http://localhost", headers=heads) as client:
            client.post("/v1/orders", json=ORDER).raise_for_status()  # connects, and learns the menu
            world.until_settled(world.typed())
            time.sleep(0.6)  # so that the backlog is counted anew, as for an order that comes alone
            with counted(parts.database) as accepting:
                order_id = client.post("/v1/orders", json=ORDER, headers=headers).json()["id"]
        with counted(database) as working:
            assert world.runner().run(order_id, "decode") is State.COMPLETED
    finally:
        parts.close()
    messages = accepting + working
    assert messages["COMMIT"] == 4, "stored, claimed, decoded, accepted"
    assert messages.total() <= SQL_MESSAGES, (accepting, working)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[EmbeddedRedis]:
    server = EmbeddedRedis(tmp_path / "redis", any_free(), tmp_path / "redis.log")
    supervisor = Supervisor(tmp_path)
    supervisor.start([server.child()])
    yield server
    supervisor.stop()


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_an_order_of_text_is_few_redis_commands(
    database: Database, database_url: str, tmp_path: Path, server: EmbeddedRedis
) -> None:
    world = Works(database, BlobFolder(tmp_path / "blobs"))
    config = Settings(home=tmp_path, database_url=database_url, redis_url=server.url)
    parts, ready = Container(config), tmp_path / "ready"
    supervisor = Supervisor(tmp_path / "worker")
    supervisor.start([
        Child(
            name="decode",
            argv=tuple(
                "tests.processes.standing_worker" if word == "services.workers.app" else word
                for word in celery_argv("decode", "decode,validate", 1, "INFO")
            ),
            log_path=tmp_path / "worker.log",
            ready=ready.exists,
            ready_timeout_s=90,
            env={**as_environment(config), "SAYCART_READY_FILE": str(ready)},
        )
    ])  # fmt: skip
    try:
        with redis.Redis.from_url(server.operator_url) as client:
            _work_off(world, parts, client, 1)
            client.config_resetstat()
            orders = 40
            _work_off(world, parts, client, orders)
            done = Counter(
                {
                    name.removeprefix("cmdstat_"): int(seen["calls"])
                    for name, seen in client.info("commandstats").items()
                }
            )
    finally:
        supervisor.stop()
        parts.close()
    done["brpop"] = min(done["brpop"], orders)  # it asks again each second while nothing comes
    used = {name: calls for name, calls in done.items() if name not in IDLE}
    # Whole commands an order: every few seconds the worker looks for messages that others left.
    assert sum(used.values()) // orders <= REDIS_COMMANDS, used


def _work_off(world: Works, parts: Container, client: redis.Redis, orders: int) -> None:
    placed = [world.typed() for _ in range(orders)]
    for order_id in placed:
        assert parts.doorbell.ring(order_id, State.TRANSCRIBED)
    until(
        lambda: (
            {world.orders.get(order_id).state for order_id in placed} == {State.COMPLETED}
            and not client.hlen("unacked")
        ),
        60,
        every_s=0.05,
    )
