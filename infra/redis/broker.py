"""Celery on Redis, set up as a doorbell. Knows no orders: names and arguments are its callers'.

Late acks and prefetch 1: a message is not lost with its worker. No result backend and no canvas: results
live in SQL. No reject-on-worker-lost: a poison order would come back at once and for ever; the sweeper
brings it back after its lease, with the attempt counted. The visibility timeout only repeats a message,
and a repeated message finds nothing to claim.

What waits is read from Redis as kombu keeps it: a list a queue, newest first, and a hash `unacked` of what
workers have taken, with the time of that in the sorted set `unacked_index`. Messages go to their queue by
name and not by way of an exchange, whose bindings a flush would take away.
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
    """The message was not sent, or the queues could not be read."""


def make_celery(redis_url: str) -> Celery:
    """A Celery app that can send; a worker adds its tasks. Without a URL whatever it sends fails.

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
        # Our log lines go to stderr: redirected, they went round into the log's own handler and were lost.
        worker_redirect_stdouts=False,
        worker_proc_alive_timeout=120.0,  # a child loads its model before it says that it is up
        worker_send_task_events=False,
        # Whoever can write to the queue could else stop all workers by one message; nothing of ours asks.
        worker_enable_remote_control=False,
        task_create_missing_queues=True,
        broker_connection_retry_on_startup=True,
        broker_transport_options={
            "visibility_timeout": 600,
            # A caller must not wait for a broker that is away; the sweeper rings later.
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
    """Task and arguments of every message that is still to be worked on; of one that moves meanwhile, twice.

    Those that a worker took longer than `fresh_s` seconds ago are left out: the worker is at it, and then its
    caller knows, or dead. A delayed message is kept by its worker until it is due, and counts from then. What
    is no message of ours is passed over.

    Raises:
        BrokerAway: no answer.
    """
    try:
        with client(app.saycart_redis, CONNECT_S, ANSWER_S) as opened:
            # Lists before the hash: a message that is taken meanwhile is then seen twice, and not missed.
            found = [call for queue in queues for call in _waiting(opened, queue)]
            return [*found, *_taken(opened, time.time() - fresh_s)]
    except (RedisError, OSError) as error:
        raise BrokerAway(repr(error)[:200]) from error


def _waiting(client: redis.Redis, queue: str) -> Iterator[Call]:
    """In pieces, so that no long list blocks the server. Messages come in at the head and leave at the tail,
    so that one which moves between two pieces comes twice."""
    start = 0
    while piece := client.lrange(queue, start, start + CHUNK - 1):
        for text in piece:
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
