"""Celery on Redis, for notifications only. Knows no orders: names and arguments are the callers'.

Late acks and prefetch 1: a message is not lost with its worker. No result backend and no canvas: results
are in SQL. No reject-on-worker-lost: a poison order would come back at once, forever; the sweeper brings it
back after its lease, with the attempt counted. The visibility timeout only repeats a message, and a repeated
message finds nothing to claim.

Waiting messages are read as kombu stores them: a list per queue, newest first, and a hash `unacked` of those
taken by workers, with their times in the sorted set `unacked_index`. Messages go to a queue by name rather
than by an exchange, whose bindings a flush would delete.
"""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from typing import Any

import redis
from celery import Celery
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from infra.redis.address import checked, client

CHUNK = 500
CONNECT_S, ANSWER_S = 1.0, 10.0
NOWHERE = "redis://127.0.0.1:1/0"
Call = tuple[str, tuple[Any, ...]]
_UNREADABLE = (ValueError, LookupError, TypeError, AttributeError)


class BrokerAway(Exception):
    """A message couldn't be sent, or the queues couldn't be read."""


def make_celery(redis_url: str) -> Celery:
    """Return a Celery app that can send; a worker adds its tasks. Without a URL every send fails.

    Raises:
        ValueError: as `checked`.
    """
    url = checked(redis_url or NOWHERE)
    app = Celery("saycart", broker=url)
    if url.startswith("redis://"):
        app.conf.broker_transport = "infra.redis.transport:Transport"
    app.conf.update(
        task_serializer="json",
        accept_content=["json"],
        task_ignore_result=True,
        task_acks_late=True,
        task_reject_on_worker_lost=False,
        worker_prefetch_multiplier=1,
        worker_disable_rate_limits=True,
        worker_hijack_root_logger=False,
        # Our logs go to stderr: redirected, they would loop into the log handler and be lost.
        worker_redirect_stdouts=False,
        worker_proc_alive_timeout=120.0,  # a child loads its model before it reports ready
        worker_send_task_events=False,
        # Otherwise anyone who can write to the queue could stop all workers; we don't use it.
        worker_enable_remote_control=False,
        task_create_missing_queues=True,
        broker_connection_retry_on_startup=True,
        broker_transport_options={
            "visibility_timeout": 600,
            # Callers don't wait for a broker that is down; the sweeper notifies later.
            "max_retries": 0,
            "socket_connect_timeout": CONNECT_S,
            "socket_timeout": ANSWER_S,
        },
    )
    app.saycart_redis = url
    return app


def send(app: Celery, task: str, args: tuple[str, ...], *, queue: str, delay_s: float = 0.0) -> None:
    """Enqueue one message, after `delay_s` seconds.

    Raises:
        BrokerAway: refused, timed out or lost on the way.
    """
    try:
        app.send_task(
            task, args=args, queue=queue, countdown=delay_s or None, retry=False, ignore_result=True
        )
    except (OperationalError, RedisError, OSError) as error:
        raise BrokerAway(repr(error)[:200]) from error


def messages(app: Celery, queues: Iterable[str], *, fresh_s: float) -> list[Call]:
    """Return task and arguments of every waiting message; one that moves meanwhile may appear twice.

    Messages taken by a worker over `fresh_s` seconds ago are left out: their worker is busy with them, or
    dead. A delayed message counts from when it is due. Foreign messages are skipped.

    Raises:
        BrokerAway: Redis doesn't respond.
    """
    try:
        with client(app.saycart_redis, CONNECT_S, ANSWER_S) as connection:
            # Lists before the hash: a message that is taken meanwhile is seen twice rather than missed.
            waiting = [call for queue in queues for call in _waiting(connection, queue)]
            return [*waiting, *_taken(connection, time.time() - fresh_s)]
    except (RedisError, OSError) as error:
        raise BrokerAway(repr(error)[:200]) from error


def _waiting(client: redis.Redis, queue: str) -> Iterator[Call]:
    """Yield waiting messages, read in chunks so that a long list doesn't block the server. Messages enter at
    the head and leave at the tail, so one that moves between two chunks is seen twice."""
    start = 0
    while chunk := client.lrange(queue, start, start + CHUNK - 1):
        for text in chunk:
            with suppress(*_UNREADABLE):
                yield _call_of(json.loads(text))
        start += CHUNK


def _taken(client: redis.Redis, since: float) -> Iterator[Call]:
    taken_at = dict(client.zscan_iter("unacked_index"))
    for tag, entry in client.hscan_iter("unacked", count=CHUNK):
        with suppress(*_UNREADABLE):
            message = json.loads(entry)[0]
            eta = message["headers"].get("eta")
            due = datetime.fromisoformat(eta).timestamp() if eta else 0.0
            if max(due, taken_at.get(tag, 0.0)) >= since:
                yield _call_of(message)


def _call_of(message: dict[str, Any]) -> Call:
    arguments = json.loads(base64.b64decode(message["body"]))[0]
    return message["headers"]["task"], tuple(arguments)
