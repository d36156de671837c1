"""The Celery worker: `celery -A services.workers.app worker -Q decode`. One task per stage.

With the prefork pool, each child process creates its container after the fork: database connections, HTTP
clients and models don't survive one. With a pool of threads, the main process creates one for all.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
from contextlib import nullcontext
from typing import Any

import structlog
from billiard.process import active_children
from celery import Celery
from celery.signals import (
    celeryd_init,
    worker_init,
    worker_process_init,
    worker_process_shutdown,
    worker_ready,
    worker_shutdown,
    worker_shutting_down,
)

from infra.observability import measures, metrics, tracing
from infra.observability.telemetry import configure_logging
from infra.processes.ready_file import ReadyFile
from infra.redis.broker import make_celery
from infra.settings import settings
from infra.sql.prepare import prepare
from schemas.errors import EngineMisconfigured, InputError
from schemas.lifecycle import StageName
from services.bootstrap import Container, bootstrap
from services.pipeline import problems
from services.pipeline.flow import FLOW, INLINE_S, Stage
from services.pipeline.runner import ATTEMPTS, Runner
from services.workers.drain import DRAIN_S, Drain
from services.workers.warming import Warming

log = structlog.get_logger()

# Not only in `bootstrap`: the main process creates files, too.
os.umask(0o077)
app: Celery = make_celery(settings().redis_url)
_container: Container | None = None
_runner: Runner | None = None
_queues: tuple[str, ...] = ()
_threads = False
_slots = 1  # of this process
_drain: Drain | None = None
_warming: Warming | None = None


def _task(stage: Stage) -> None:
    # Inline stages run in the same task.
    @app.task(name=f"saycart.{stage.name}", time_limit=stage.limit_s + INLINE_S)  # type: ignore[untyped-decorator]
    def run(rung_for: str, stage_name: str) -> None:
        if _runner is None:
            raise RuntimeError("this worker process was not initialised")
        with _warming.order() if _warming else nullcontext():
            _runner.run(rung_for, stage_name)


for _stage in FLOW.values():
    _task(_stage)


@celeryd_init.connect  # type: ignore[untyped-decorator]
def _remember_queues(options: dict[str, Any] | None = None, **_: Any) -> None:
    """Remember which queues the worker serves: they decide which engines it loads."""
    global _queues
    ReadyFile().remove()  # of an earlier process
    named = (options or {}).get("queues") or ()
    _queues = tuple(named.split(",")) if isinstance(named, str) else tuple(named)
    measures.set_part("+".join(_queues))
    measures.initialize(problems.RARE, problems.TROUBLES)


@worker_init.connect  # type: ignore[untyped-decorator]
def _check(**_: Any) -> None:
    """Check the database and the decode server in the main process (ADR 22): children that fail would be
    restarted again and again."""
    configure_logging(settings().log_level, as_json=settings().log_json)
    container = bootstrap(settings())
    try:
        prepare(container.database, at_start=False)
        if StageName.DECODE in _queues:
            container.prove_decoder()
    except EngineMisconfigured as error:
        log.critical("worker.decoder_refused", error=error.detail)
        sys.exit(f"No orders are taken: {error.whole}. {error.hint}")
    except InputError as error:
        sys.exit(_why(error))
    finally:
        container.close()


@worker_init.connect  # type: ignore[untyped-decorator]
def _remember_pool(sender: Any, **_: Any) -> None:
    """Start here if the pool has threads, for which Celery sends no start signal."""
    global _threads, _slots
    _threads = "thread" in str(sender.pool_cls)  # a name or a class
    if _threads:
        _slots = sender.concurrency
        try:
            _start()
        except Exception as error:
            sys.exit(_why(error))


@worker_process_init.connect  # type: ignore[untyped-decorator]
def _start_child(**_: Any) -> None:
    """Start a child process. On an error, end the whole worker, for its supervisor to restart: Celery would
    only log the error and give orders to the process."""
    try:
        _start()
    except Exception as error:
        log.critical("worker.not_started", error=_why(error), exc_info=True)
        os.kill(os.getppid(), signal.SIGTERM)
        os._exit(1)


def _why(error: Exception) -> str:
    detail, hint = getattr(error, "detail", type(error).__name__), getattr(error, "hint", "")
    return f"No orders are taken: {detail}. {hint}".strip()


def _start() -> None:
    global _container, _runner, _warming
    configure_logging(settings().log_level, as_json=settings().log_json)
    tracing.start(settings(), "worker")
    _container = bootstrap(settings())
    measures.watch(_container.database, slots=_slots)
    main = os.getpid() if _threads else os.getppid()
    _runner = Runner(
        orders=_container.orders,
        ring=_container.doorbell.ring,
        tools=_container.tools,
        owner=f"{_family(main)}:{os.getpid()}",
        attempts=ATTEMPTS,
        lease_s=settings().stage_lease_s,
    )
    if StageName.TRANSCRIBE in _queues:
        _container.load_recognizers()
    if StageName.DECODE in _queues:
        _warming = Warming(_container.wanted_menus, _container.warm_menu, ReadyFile().beat)
        _warming.start()
    else:
        ReadyFile().beat()
    log.info("worker.ready", queues=_queues)


@worker_ready.connect  # type: ignore[untyped-decorator]
def _listening(**_: Any) -> None:
    """Start the threads of the main process, after the fork."""
    global _drain
    _drain = Drain(DRAIN_S, _give_back, lambda: [child.pid for child in active_children()])
    metrics.serve(settings().api_host, settings().metrics_port)


@worker_shutting_down.connect  # type: ignore[untyped-decorator]
def _begin_to_stop(**_: Any) -> None:
    ReadyFile().remove()
    if _drain is not None:
        _drain.begin()


def _give_back() -> int:
    """Release all orders of this worker and notify other workers of them; return how many."""
    container = bootstrap(settings())
    held = container.orders.release_all(_family(os.getpid()))
    for order_id, state in held:
        container.doorbell.ring(order_id, state)
    return len(held)


def _family(main: int) -> str:
    """Return the prefix of all lease owners of a worker with the main process `main`."""
    return f"{socket.gethostname()}:{main}"


@worker_process_shutdown.connect  # type: ignore[untyped-decorator]
@worker_shutdown.connect  # type: ignore[untyped-decorator]
def _stop(**_: Any) -> None:
    if _warming is not None:
        _warming.stop()
    if _container is not None:
        _container.close()
    tracing.stop()
