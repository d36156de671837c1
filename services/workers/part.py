"""Start and end of the processes without Celery, the sweeper and the courier."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from infra.observability import measures, metrics, tracing
from infra.observability.telemetry import configure_logging
from infra.processes.ready_file import ReadyFile
from infra.processes.signals import StopSignal
from infra.settings import settings
from infra.sql.prepare import prepare
from schemas.errors import InputError
from services.bootstrap import Container, bootstrap


@contextmanager
def running(name: str) -> Iterator[tuple[Container, Callable[[float], bool]]]:
    """Yield the process's container, and a function that waits some seconds and returns True to stop.

    Raises:
        SystemExit: an invalid setting, or tables of another release.
    """
    config = settings()
    configure_logging(config.log_level, as_json=config.log_json)
    stop = StopSignal()
    measures.set_part(name)
    try:
        container = bootstrap(config)
        tracing.start(config, name)
        measures.watch(container.database)
        metrics.serve(config.api_host, config.metrics_port)
        prepare(container.database, at_start=False, pause=stop.wait)
    except InputError as error:
        raise SystemExit(f"{error.detail}. {error.hint}") from None
    ready = ReadyFile()

    def stopped(pause_s: float) -> bool:
        ready.beat()
        return stop.wait(pause_s)

    yield container, stopped
    ready.remove()
    container.close()
    tracing.stop()
