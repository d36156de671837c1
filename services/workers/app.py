"""The Celery worker: `celery -A services.workers.app worker -Q decode`. One task a stage, each one call.

Containers are made in the pool's child processes, never before the fork: database connections, HTTP
clients and models do not survive one.
"""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path
from typing import Any

import structlog
from celery import Celery
from celery.signals import celeryd_init, worker_init, worker_process_init, worker_process_shutdown

from infra.broker import make_celery
from infra.settings import settings
from infra.telemetry import configure_logging
from schemas.errors import EngineMisconfigured
from services.bootstrap import Container, bootstrap
from services.pipeline.flow import FLOW, Stage
from services.pipeline.runner import Runner

log = structlog.get_logger()

app: Celery = make_celery(settings().redis_url)
_container: Container | None = None
_runner: Runner | None = None
_queues: tuple[str, ...] = ()


def _task(stage: Stage) -> None:
    @app.task(name=f"saycart.{stage.name}", time_limit=stage.limit_s)  # type: ignore[untyped-decorator]
    def run(order_id: str, stage_name: str) -> None:
        if _runner is None:
            raise RuntimeError("this worker process was not initialised")
        _runner.run(order_id, stage_name)


for _stage in FLOW.values():
    _task(_stage)


@celeryd_init.connect  # type: ignore[untyped-decorator]
def _remember_queues(options: dict[str, Any] | None = None, **_: Any) -> None:
    """Which engines a worker loads at start follows from the queues that it was told to serve."""
    global _queues
    named = (options or {}).get("queues") or ()
    _queues = tuple(named.split(",")) if isinstance(named, str) else tuple(named)


@worker_init.connect  # type: ignore[untyped-decorator]
def _trust_decoder(**_: Any) -> None:
    """In the main process, before the first order: no work for a server that ignores the mask (ADR 0022)."""
    if "decode" not in _queues:
        return
    configure_logging(settings().log_level, as_json=settings().log_json)
    container = bootstrap(settings())
    try:
        container.prove_decoder()
    except EngineMisconfigured as error:
        log.critical("worker.decoder_refused", error=error.detail)
        sys.exit(f"No orders are taken: {error.detail}. {error.hint}")
    finally:
        container.close()


@worker_process_init.connect  # type: ignore[untyped-decorator]
def _start(**_: Any) -> None:
    global _container, _runner
    configure_logging(settings().log_level, as_json=settings().log_json)
    _container = bootstrap(settings())
    _runner = Runner(
        orders=_container.orders,
        doorbell=_container.doorbell,
        tools=_container.tools,
        owner=f"{socket.gethostname()}:{os.getpid()}",
        attempts=settings().stage_attempts,
        lease_s=settings().stage_lease_s,
    )
    if "transcribe" in _queues:
        _container.load_transcriber()
    if ready_file := os.environ.get("SAYCART_READY_FILE"):
        Path(ready_file).touch()
    if "decode" in _queues:
        # After ready: it works without, only its first order would be slower.
        _container.warm_menus()
    log.info("worker.ready", queues=_queues)


@worker_process_shutdown.connect  # type: ignore[untyped-decorator]
def _stop(**_: Any) -> None:
    if _container is not None:
        _container.close()
