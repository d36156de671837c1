"""Celery on Redis, set up as a doorbell. Knows no orders: names and arguments are its callers'.

Late acks and prefetch 1: a message is not lost with its worker. No result backend and no canvas: results
live in SQL. No reject-on-worker-lost: a poison order would come back at once and for ever; the sweeper
brings it back after its lease, with the attempt counted. The visibility timeout only repeats a message,
and a repeated message finds nothing to claim.
"""

from __future__ import annotations

from celery import Celery
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError


class BrokerAway(Exception):
    """The message was not sent."""


def make_celery(redis_url: str) -> Celery:
    """A Celery app that can send; a worker adds its tasks."""
    app = Celery("saycart", broker=redis_url)
    app.conf.update(
        task_serializer="json",
        accept_content=["json"],
        task_ignore_result=True,
        task_acks_late=True,
        task_reject_on_worker_lost=False,
        worker_prefetch_multiplier=1,
        worker_disable_rate_limits=True,
        worker_hijack_root_logger=False,
        worker_proc_alive_timeout=120.0,  # a child loads its model before it says that it is up
        worker_send_task_events=False,
        broker_connection_retry_on_startup=True,
        broker_transport_options={
            "visibility_timeout": 600,
            # A caller must not wait for a broker that is away; the sweeper rings later.
            "max_retries": 0,
            "socket_connect_timeout": 1.0,
            "socket_timeout": 10.0,
        },
        task_create_missing_queues=True,
    )
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
