"""The sweeper with real Redis: which orders it rings for, and which not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from infra.processes.ports import any_free
from infra.redis.broker import make_celery
from infra.redis.server import EmbeddedRedis
from infra.settings import Settings
from infra.sql.database import Database
from schemas.lifecycle import State
from services.bootstrap import Container
from services.doorbell import Doorbell
from services.workers.sweeper import sweep
from tests.stand_ins import Pipeline

QUEUES = ("transcribe", "decode", "validate")


@pytest.fixture
def queue(server: EmbeddedRedis) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(server.operator_url) as client:
        client.flushall()
        yield client


@pytest.fixture
def parts(
    database_url: str, database: Database, server: EmbeddedRedis, queue: redis.Redis, tmp_path: Path
) -> Iterator[Container]:
    made = Container(Settings(home=tmp_path, database_url=database_url, redis_url=server.url))
    yield made
    made.close()


@pytest.fixture
def world(parts: Container) -> Pipeline:
    return Pipeline(parts.database, parts.blobs)


def rung(queue: redis.Redis) -> Counter[str]:
    """Return the messages of each order in all queues."""
    raw = [message for name in QUEUES for message in queue.lrange(name, 0, -1)]
    return Counter(
        order for text in raw for order in (text.split(b'argsrepr": "(')[1].split(b"'")[1].decode(),)
    )


def test_five_sweeps_ring_once_per_order(world: Pipeline, parts: Container, queue: redis.Redis) -> None:
    orders = [world.typed() for _ in range(500)]
    for order_id in orders[:100]:
        parts.doorbell.ring(order_id, State.TRANSCRIBED)
    assert [sweep(parts, idle_s=0) for _ in range(5)] == [400, 0, 0, 0, 0]
    assert rung(queue) == Counter(orders)
    # A flush deletes all messages and bindings; one sweep restores them over the same connections.
    queue.flushall()
    assert sweep(parts, idle_s=0) == 500
    assert rung(queue) == Counter(orders)
    assert sweep(parts, idle_s=0) == 0


def test_one_sweeper_holds_the_lock(parts: Container, database_url: str) -> None:
    other = Database(database_url)
    with parts.database.try_lock("t") as mine, other.try_lock("t") as theirs:
        assert (mine, theirs) == (True, False)
        with other.try_lock("another") as free:
            assert free
    # Free in the moment the block ends, and not only once the server has noticed a closed connection.
    for _ in range(100):
        with other.try_lock("t") as taken:
            assert taken
            other.ping()  # leaves a connection behind that the next turn has at once
    other.close()


def test_an_unacknowledged_message_counts_for_a_while(
    world: Pipeline, parts: Container, queue: redis.Redis, server: EmbeddedRedis
) -> None:
    order_id = world.typed()
    doorbell, app = parts.doorbell, make_celery(server.url)
    assert doorbell.ring(order_id, State.TRANSCRIBED)
    with app.connection_for_read() as connection:
        connection.SimpleQueue("decode").get(timeout=5)  # taken, and never acknowledged
        assert queue.llen("decode") == 0
        assert doorbell.held(30) == Counter([State.TRANSCRIBED])
        assert sweep(parts, idle_s=0) == 0, "the worker may be about to claim it"
        assert doorbell.held(0) == Counter()
        # Age its taking: the worker died before it could claim.
        tag = queue.zrange("unacked_index", 0, 0)[0]
        queue.zadd("unacked_index", {tag: 1.0})
        assert [sweep(parts, idle_s=0) for _ in range(3)] == [1, 0, 0]
        assert rung(queue) == Counter([order_id])


def test_a_delayed_message_counts_until_due(
    world: Pipeline, parts: Container, queue: redis.Redis, server: EmbeddedRedis
) -> None:
    order_id = world.typed()
    app = make_celery(server.url)
    parts.doorbell.ring(order_id, State.TRANSCRIBED, delay_s=20)
    with app.connection_for_read() as connection:
        connection.SimpleQueue("decode").get(timeout=5)  # as a worker keeps it until its time
        queue.zadd("unacked_index", {queue.zrange("unacked_index", 0, 0)[0]: 1.0})
        assert parts.doorbell.held(5) == Counter([State.TRANSCRIBED])
        assert sweep(parts, idle_s=0) == 0


def test_a_message_of_an_earlier_stage_does_not_count(
    world: Pipeline, parts: Container, queue: redis.Redis
) -> None:
    order_id = world.spoken()
    assert parts.doorbell.ring(order_id, State.RECEIVED)
    world.bell.up = False
    assert world.runner().run(order_id, "transcribe") is State.TRANSCRIBED
    assert sweep(parts, idle_s=0) == 1
    assert queue.llen("decode") == 1


def test_without_redis_nothing_is_rung(world: Pipeline, database_url: str, tmp_path: Path) -> None:
    world.typed()
    gone = Container(
        Settings(home=tmp_path, database_url=database_url, redis_url=f"redis://127.0.0.1:{any_free()}/0")
    )
    assert gone.doorbell.held(30) is None
    assert sweep(gone, idle_s=0) == 0
    gone.close()


@pytest.mark.parametrize("junk", ["free text", "[]", "{}", '{"body": "!", "headers": {"task": "t"}}', "3"])
def test_foreign_messages_are_ignored(server: EmbeddedRedis, queue: redis.Redis, junk: str) -> None:
    doorbell = Doorbell(make_celery(server.url))
    queue.hset("unacked", "tag", junk)
    assert doorbell.ring("ord_1", State.TRANSCRIBED)
    assert doorbell.held(30) == Counter([State.TRANSCRIBED])
