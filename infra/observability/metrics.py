"""Show metrics to Prometheus, those of several processes by `prometheus_client`'s multiprocess mode.

In that mode, which the library reads from `PROMETHEUS_MULTIPROC_DIR` as it is imported, each process writes
its numbers to files in a folder, and each scrape adds them up. On one machine `saycart run` gives all parts
one folder, and the API shows it; on several machines each part serves its own numbers on
`SAYCART_METRICS_PORT`. With neither, nothing is shown.

Counters of a dead process stay; its gauges are removed.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import structlog
from prometheus_client import CollectorRegistry, multiprocess, start_http_server
from prometheus_client.core import Metric

from infra.observability import measures

log = structlog.get_logger(__name__)

MEASURED = "PROMETHEUS_MULTIPROC_DIR"
SHOWN = "SAYCART_METRICS_DIR"
"""Set for the API: the folder in which the other parts of its machine measure."""


def shown() -> Path | None:
    """Return the folder that this process shows besides its own metrics, if any."""
    return Path(name) if (name := os.environ.get(SHOWN)) else None


def serve(host: str, port: int) -> bool:
    """Serve this process's metrics, and its children's, in a thread, unless `port` is 0. Return False, and
    log, if the port is taken: a worker still works without metrics, and Prometheus reports failed scrapes."""
    if not port:
        return False
    registry = measures.REGISTRY
    if folder := os.environ.get(MEASURED):
        registry = CollectorRegistry()
        registry.register(Parts(Path(folder)))
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
    folder.mkdir(mode=0o700, parents=True)
    return folder


class Parts:
    """A collector of the metrics of all processes of a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def collect(self) -> Iterable[Metric]:
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
