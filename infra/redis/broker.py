"""Celery on Redis, for notifications only.

Late acks and prefetch 1: a message is not lost with its worker. No result backend and no canvas: results
are in SQL. No reject-on-worker-lost: a poison order would come back at once, forever; the sweeper brings it
back after its lease, with the attempt counted. The visibility timeout only repeats a message, and a repeated
message finds nothing to claim.

Waiting messages are counted as kombu stores them: a list per queue, and a hash `unacked` of those delivered
to workers, with their times in the sorted set `unacked_index`. Messages are sent to a queue by name, since a
flush would delete the bindings of an exchange.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime

from celery import Celery
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from infra.redis.address import checked, client

CHUNK = 500
CONNECT_S, ANSWER_S = 1.0, 10.0
NOWHERE = "redis://127.0.0.1:1/0"


class BrokerAway(Exception):
    """A message couldn't be sent, or the queues couldn't be read."""


def make_celery(redis_url: str) -> Celery:
    """Return a Celery app that can send; a worker adds its tasks. Without a URL every send fails.

    Raises:
        ValueError: as `checked`.
    """
    url = checked(redis_url or NOWHERE)
    app = Celery("saycart", broker=url)
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


def waiting(app: Celery, queues: Iterable[str], *, fresh_s: float) -> Counter[str]:
    """Count the waiting messages of each queue; one that moves meanwhile may be counted twice.

    Messages taken by a worker over `fresh_s` seconds ago are left out: their worker is busy with them, or
    dead. A delayed message counts from when it is due.

    Raises:
        BrokerAway: Redis doesn't respond.
    """
    since = time.time() - fresh_s
    try:
        with client(app.saycart_redis, CONNECT_S, ANSWER_S) as connection:
            # Lists before the hash: a message that is taken meanwhile is counted twice rather than missed.
            counts = Counter({queue: connection.llen(queue) for queue in queues})
            taken_at = dict(connection.zscan_iter("unacked_index"))
            for tag, entry in connection.hscan_iter("unacked", count=CHUNK):
                with suppress(ValueError, LookupError, TypeError, AttributeError):  # not one of ours
                    message, _, queue = json.loads(entry)
                    eta = message["headers"].get("eta")
                    due = datetime.fromisoformat(eta).timestamp() if eta else 0.0
                    counts[queue] += max(due, taken_at.get(tag, 0.0)) >= since
            return counts
    except (RedisError, OSError) as error:
        raise BrokerAway(repr(error)[:200]) from error
