"""How a worker's metrics reach Prometheus, though its work is done in child processes.

A process that measures keeps its numbers in files of its own in a folder that its neighbours share, and
each scrape adds them up: `prometheus_client`'s multiprocess mode. On one machine `saycart run` gives all
its parts one folder, and the API shows it (`SAYCART_METRICS_DIR`); on several each worker has a folder of its
own and serves it on `SAYCART_METRICS_PORT`, from its main process. With neither nothing is measured.

What a process counted stays when it dies; what it had in hand goes with it.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import structlog

from infra.observability import measures
from infra.private import keep_private

if TYPE_CHECKING:
    from prometheus_client.core import Metric

log = structlog.get_logger(__name__)

FOLDER, _MODE = "SAYCART_METRICS_DIR", "PROMETHEUS_MULTIPROC_DIR"
_own: tempfile.TemporaryDirectory[str] | None = None  # as long as the process lives


def begin(part: str, port: int) -> Path | None:
    """Measure in this process and in those that it forks, into the shared folder, or into one of its own
    where there is none and it is to serve on `port`. The folder; None when nothing would be scraped.

    To be called before anything is measured, and before the fork.

    Raises:
        RuntimeError: the library was imported before; it looks for its mode then, and never again.
    """
    folder = shared()
    if folder is None and not port:
        return None
    if _MODE not in os.environ and "prometheus_client" in sys.modules:
        raise RuntimeError("prometheus_client was imported before metrics began")
    keep_private()
    if folder is None:
        global _own
        _own = tempfile.TemporaryDirectory(prefix="saycart-metrics-")
        folder = Path(_own.name)
    os.environ[_MODE] = str(folder)
    from prometheus_client import CollectorRegistry

    measures.open_in(CollectorRegistry(), part)
    return folder


def shared() -> Path | None:
    """The folder in which the parts of this machine measure, there; None where they do not."""
    if not (named := os.environ.get(FOLDER)):
        return None
    folder = Path(named)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def serve(folder: Path, host: str, port: int) -> bool:
    """Answer scrapes of `folder` in a thread of this process; False, and logged, when the port can't be had:
    a worker without metrics still does its work, and Prometheus says that it can't be scraped."""
    from prometheus_client import CollectorRegistry, start_http_server

    registry = CollectorRegistry()
    registry.register(Parts(folder))
    try:
        start_http_server(port, host, registry)
    except OSError as error:
        log.error("metrics.not_served", host=host, port=port, error=error.strerror)
        return False
    log.info("metrics.served", host=host, port=port)
    return True


def emptied(folder: Path) -> Path:
    """`folder`, there and empty."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


class Parts:
    """A collector of what all processes of a folder have measured."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def collect(self) -> Iterable[Metric]:
        from prometheus_client import multiprocess

        collector: Any = multiprocess.MultiProcessCollector  # it has no types
        for file in self.folder.glob("gauge_*.db"):
            if not _lives(int(file.stem.rpartition("_")[2])):
                file.unlink(missing_ok=True)
        # A process that was killed as it made its file leaves it empty.
        return list(collector.merge([str(file) for file in self.folder.glob("*.db") if file.stat().st_size]))


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, PermissionError):  # of another user: the number was given out again
        return False
    return True
