"""Export metrics of several processes to Prometheus, by `prometheus_client`'s multiprocess mode.

Each process writes its numbers to files in a shared folder, and each scrape adds them up. On one machine
`saycart run` gives all parts one folder (`SAYCART_METRICS_DIR`), and the API serves it; on several machines a
worker has its own folder and serves it on `SAYCART_METRICS_PORT`. With neither, metrics are off.

Counters of a dead process stay; its gauges are removed.
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
    """Turn metrics on in this process and its forks, in the shared folder, or in an own one if there is none
    and `port` is set. Returns the folder, or None if metrics stay off.

    Call it before anything is measured, and before forking.

    Raises:
        RuntimeError: the library was imported before; it reads its mode only once, at import.
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
    """Return the folder shared by this machine's parts, created if missing; None if there is none."""
    if not (name := os.environ.get(FOLDER)):
        return None
    folder = Path(name)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def serve(folder: Path, host: str, port: int) -> bool:
    """Serve scrapes of `folder` in a thread; return False, and log, if the port is taken: a worker still
    works without metrics, and Prometheus reports the failed scrapes."""
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


def empty(folder: Path) -> Path:
    """Delete and recreate `folder`; return it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


class Parts:
    """A collector of the metrics of all processes of a folder."""

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
    except (ProcessLookupError, PermissionError):  # another user's: the number was reused
        return False
    return True
