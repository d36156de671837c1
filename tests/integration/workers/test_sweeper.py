"""The sweeper with real Redis: what it rings for, and what it leaves alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from infra.processes.ports import any_free
from infra.redis.broker import make_celery
from infra.redis.server import EmbeddedRedis
from infra.settings import Settings
from infra.sql.database import Database
from schemas.lifecycle import State
from services.bootstrap import Container
from services.doorbell import CeleryDoorbell
from services.workers.sweeper import sweep
from tests.stand_ins import Works

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
def world(parts: Container) -> Works:
    return Works(parts.database, parts.blobs)


def rung(queue: redis.Redis) -> Counter[str]:
    """Messages of each order in all queues."""
    raw = [message for name in QUEUES for message in queue.lrange(name, 0, -1)]
    return Counter(
        order for text in raw for order in (text.split(b'argsrepr": "(')[1].split(b"'")[1].decode(),)
    )


def test_500_orders_and_five_sweeps_make_500_messages(
    world: Works, parts: Container, queue: redis.Redis
) -> None:
    orders = [world.typed() for _ in range(500)]
    for order_id in orders[:100]:
        parts.doorbell.ring(order_id, State.TRANSCRIBED)
    assert [sweep(parts, idle_s=0) for _ in range(5)] == [400, 0, 0, 0, 0]
    assert rung(queue) == Counter(orders)
    # A flush takes all messages and every binding; one sweep brings them back through the same connections.
    queue.flushall()
    assert sweep(parts, idle_s=0) == 500
    assert rung(queue) == Counter(orders)
    assert sweep(parts, idle_s=0) == 0


def test_many_sweepers_at_once_ring_once(
    world: Works, parts: Container, queue: redis.Redis, race: Callable[..., list[Any]]
) -> None:
    orders = [world.typed() for _ in range(20)]
    counts = race(6, lambda _: sweep(parts, idle_s=0))
    assert sum(counts) == 20
    assert rung(queue) == Counter(orders)


def test_only_one_holds_the_lock_and_gives_it_back(parts: Container, database_url: str) -> None:
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


def test_a_message_that_a_worker_took_counts_for_a_while(
    world: Works, parts: Container, queue: redis.Redis, server: EmbeddedRedis
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


def test_a_delayed_message_counts_until_it_was_due(
    world: Works, parts: Container, queue: redis.Redis, server: EmbeddedRedis
) -> None:
    order_id = world.typed()
    app = make_celery(server.url)
    parts.doorbell.ring(order_id, State.TRANSCRIBED, delay_s=20)
    with app.connection_for_read() as connection:
        connection.SimpleQueue("decode").get(timeout=5)  # as a worker keeps it until its time
        queue.zadd("unacked_index", {queue.zrange("unacked_index", 0, 0)[0]: 1.0})
        assert parts.doorbell.held(5) == Counter([State.TRANSCRIBED])
        assert sweep(parts, idle_s=0) == 0


def test_the_message_of_a_former_stage_does_not_count(
    world: Works, parts: Container, queue: redis.Redis
) -> None:
    order_id = world.spoken()
    assert parts.doorbell.ring(order_id, State.RECEIVED)
    world.bell.works = False
    assert world.runner().run(order_id, "transcribe") is State.TRANSCRIBED
    assert sweep(parts, idle_s=0) == 1
    assert queue.llen("decode") == 1


def test_a_message_that_was_spent_on_another_order_is_not_missed_twice(
    world: Works, parts: Container, queue: redis.Redis
) -> None:
    """A message stands for work of its stage, whichever order it was sent about."""
    orders = [world.typed() for _ in range(3)]
    for _ in range(2):
        parts.doorbell.ring(orders[0], State.TRANSCRIBED)
    assert [sweep(parts, idle_s=0) for _ in range(3)] == [1, 0, 0]


def test_with_redis_away_nothing_is_rung(world: Works, database_url: str, tmp_path: Path) -> None:
    world.typed()
    gone = Container(
        Settings(home=tmp_path, database_url=database_url, redis_url=f"redis://127.0.0.1:{any_free()}/0")
    )
    assert gone.doorbell.held(30) is None
    assert sweep(gone, idle_s=0) == 0
    gone.close()


@pytest.mark.parametrize("junk", ["free text", "[]", "{}", '{"body": "!", "headers": {"task": "t"}}', "3"])
def test_what_a_worker_took_that_is_no_message_of_ours_is_passed_over(
    server: EmbeddedRedis, queue: redis.Redis, junk: str
) -> None:
    doorbell = CeleryDoorbell(make_celery(server.url))
    queue.hset("unacked", "tag", junk)
    assert doorbell.ring("ord_1", State.TRANSCRIBED)
    assert doorbell.held(30) == Counter([State.TRANSCRIBED])
