"""Celery on Redis, set up as a doorbell: messages say which order waits for which stage, nothing else.

Late acks and prefetch 1: a message is not lost with its worker. No result backend and no canvas: results
live in SQL. No reject-on-worker-lost: a poison order would come back at once and for ever; the sweeper
brings it back after its lease, with the attempt counted. The visibility timeout only repeats a message,
and a repeated message finds nothing to claim.
"""

from __future__ import annotations

import structlog
from celery import Celery
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from schemas.lifecycle import State
from services.pipeline.flow import FLOW

log = structlog.get_logger()


def make_celery(redis_url: str) -> Celery:
    """A Celery app that can send; `services/workers/app.py` adds the tasks."""
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
            # The API must answer 202 quickly with Redis away; the sweeper rings later.
            "max_retries": 0,
            "socket_connect_timeout": 1.0,
            "socket_timeout": 10.0,
        },
        task_default_queue="transcribe",
        task_create_missing_queues=True,
    )
    return app


class CeleryDoorbell:
    """`Doorbell` through Celery."""

    def __init__(self, app: Celery) -> None:
        self._app = app

    def ring(self, order_id: str, state: State, *, delay_s: float = 0.0) -> bool:
        stage = FLOW[state].name
        try:
            self._app.send_task(
                f"saycart.{stage}",
                args=(order_id, stage),
                queue=stage,
                countdown=delay_s or None,
                retry=False,
                ignore_result=True,
            )
        except (OperationalError, RedisError, OSError) as error:
            log.warning("queue.away", order_id=order_id, stage=stage, error=repr(error)[:200])
            return False
        return True
