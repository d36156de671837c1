"""Notifies workers, over Celery, that an order waits for a stage; the claim decides which order is next."""

from __future__ import annotations

from collections import Counter

import structlog
from celery import Celery

from infra.observability import tracing
from infra.redis.broker import BrokerAway, send, waiting
from schemas.lifecycle import State
from services.pipeline.flow import FLOW

log = structlog.get_logger()


class Doorbell:
    """Sends to the queue of the stage that an order waits for. A message may be lost: the sweeper repeats it
    from SQL."""

    def __init__(self, app: Celery) -> None:
        self._app = app

    def ring(self, order_id: str, state: State, delay_s: float = 0.0) -> bool:
        """Notify the stage that `state` waits for; return False, and log, if the broker is down. The order id
        is for logs and traces: another order's turn may come first."""
        stage = FLOW[state].name
        try:
            with tracing.span(f"send {stage}", {"saycart.order.id": order_id}, kind="producer"):
                send(self._app, f"saycart.{stage}", (order_id, stage), queue=stage, delay_s=delay_s)
        except BrokerAway as error:
            log.warning("queue.away", order_id=order_id, stage=stage, error=str(error))
            return False
        return True

    def held(self, fresh_s: float) -> Counter[State] | None:
        """Count the messages of each stage: waiting ones, and those taken by a worker in the last `fresh_s`
        seconds. Returns None, and logs, if the broker is down."""
        try:
            counts = waiting(self._app, [stage.name for stage in FLOW.values()], fresh_s=fresh_s)
        except BrokerAway as error:
            log.warning("queue.not_read", error=str(error))
            return None
        return Counter({state: counts[stage.name] for state, stage in FLOW.items()})
