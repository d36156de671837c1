"""Rings lost doorbells: `python -m services.workers.sweeper`.

SQL is the truth. Orders that wait, that nobody holds and that nothing has happened to for a while, are
enqueued again: after a flushed Redis, a dead worker, or a stack that was killed and started anew. Ringing
twice is harmless, since only one claim wins.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import structlog

from infra.settings import settings
from infra.signals import StopSignal
from infra.telemetry import configure_logging
from schemas.errors import StorageUnavailable
from services.bootstrap import Container, bootstrap

log = structlog.get_logger()

BATCH = 200
FORGET_EVERY_S = 3600.0


def sweep(container: Container, idle_s: float) -> int:
    """Ring for every order that has waited untouched for `idle_s` seconds; how many."""
    due = container.orders.due(limit=BATCH, idle_s=idle_s)
    rung = sum(container.doorbell.ring(order_id, state) for order_id, state in due)
    if due:
        log.info("sweep.rang", due=len(due), rung=rung)
    return rung


def main() -> None:
    config = settings()
    configure_logging(config.log_level, as_json=config.log_json)
    container = bootstrap(config)
    stop = StopSignal()
    if ready_file := os.environ.get("SAYCART_READY_FILE"):
        Path(ready_file).touch()
    # The first sweep takes orders at once: at a start, whatever waits has lost its doorbell.
    idle_s, next_forgetting = 0.0, 0.0
    while True:
        try:
            sweep(container, idle_s)
            if time.monotonic() >= next_forgetting:
                container.orders.forget_keys(config.idempotency_days * 86_400)
                next_forgetting = time.monotonic() + FORGET_EVERY_S
            # A queue may be long for good reasons; past this wait a message is taken for lost.
            idle_s = config.sweep_idle_s
        except StorageUnavailable as error:
            log.warning("sweep.storage_away", error=error.detail)
        if stop.wait(config.sweep_interval_s):
            break
    container.close()


if __name__ == "__main__":
    main()
