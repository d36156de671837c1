"""Export metrics to Prometheus, for several processes in `prometheus_client`'s multiprocess mode.

In that mode, which `PROMETHEUS_MULTIPROC_DIR` enables at import, each process writes its values to files in a
folder, and each scrape adds them up. On one machine `saycart run` gives all parts the same folder, and the
API serves it; on several machines each part serves its own values on `SAYCART_METRICS_PORT`.

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

MULTIPROC_DIR = "PROMETHEUS_MULTIPROC_DIR"
SHOWN_DIR = "SAYCART_METRICS_DIR"
"""Set for the API: the folder with the metrics of its machine's other parts."""


def shown_folder() -> Path | None:
    """Return the folder of other parts' metrics that this process serves, if any."""
    return Path(name) if (name := os.environ.get(SHOWN_DIR)) else None


def serve(host: str, port: int) -> bool:
    """Serve this process's metrics, and its children's, in a thread, unless `port` is 0. Return False, and
    log, if the port is taken: a worker still works without metrics, and Prometheus reports failed scrapes."""
    if not port:
        return False
    registry = measures.REGISTRY
    if folder := os.environ.get(MULTIPROC_DIR):
        registry = CollectorRegistry()
        registry.register(FolderCollector(Path(folder)))
    try:
        start_http_server(port, host, registry)
    except OSError as error:
        log.error("metrics.not_served", host=host, port=port, error=error.strerror)
        return False
    log.info("metrics.served", host=host, port=port)
    return True


def recreate(folder: Path) -> Path:
    """Delete and recreate `folder`; return it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700, parents=True)
    return folder


class FolderCollector:
    """Collects the metrics of all processes in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def collect(self) -> Iterable[Metric]:
        collector: Any = multiprocess.MultiProcessCollector  # it has no types
        for file in self.folder.glob("gauge_*.db"):
            if not _is_running(int(file.stem.rpartition("_")[2])):
                file.unlink(missing_ok=True)
        # A process that was killed while creating its file leaves it empty.
        return list(collector.merge([str(file) for file in self.folder.glob("*.db") if file.stat().st_size]))


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, PermissionError):  # another user's: the number was reused
        return False
    return True
