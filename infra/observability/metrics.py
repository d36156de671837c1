"""How a worker's metrics reach Prometheus, though its work is done in child processes.

A process that measures keeps its numbers in files of its own in a folder that its neighbours share, and
each scrape adds them up: `prometheus_client`'s multiprocess mode. On one machine `saycart run` gives all
its parts one folder, and the API shows it (`SAYCART_METRICS_DIR`); on several each worker has a folder of its
own and serves it on `SAYCART_METRICS_PORT`, from its main process. With neither nothing is measured.

What a process counted stays when it dies. What it had in hand goes: files of gauges are removed once their
process is gone, and counts of the dead are gathered in one file, so that no number of restarts makes a scrape
slow.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import structlog
from filelock import FileLock

from infra.observability import measures
from infra.private import keep_private

if TYPE_CHECKING:
    from prometheus_client.core import Metric

log = structlog.get_logger(__name__)

FOLDER, _MODE = "SAYCART_METRICS_DIR", "PROMETHEUS_MULTIPROC_DIR"
_LOCK = "reading.lock"
_PREFIX = "saycart-metrics-"
_OF_THE_DEAD = "0"  # in place of a process id


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
    folder = folder or _own_folder()
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
        # One at a time, since counts of the dead are moved from file to file.
        with FileLock(self.folder / _LOCK):
            self._bury()
            # A process that was killed as it made its file leaves it empty.
            files = [str(file) for file in self.folder.glob("*.db") if file.stat().st_size]
            return list(collector.merge(files))

    def _bury(self) -> None:
        """Drop the gauges of processes that are gone, and gather their counts."""
        from prometheus_client import mmap_dict

        counts: Any = mmap_dict.MmapedDict  # it has no types
        for file in self.folder.glob("*_*.db"):
            kind, _, pid = file.stem.rpartition("_")
            if pid == _OF_THE_DEAD or not pid.isdecimal() or _lives(int(pid)):
                continue
            if not kind.startswith("gauge") and file.stat().st_size:
                gathered = counts(str(self.folder / f"{kind}_{_OF_THE_DEAD}.db"))
                try:
                    for key, value, _, _ in counts.read_all_values_from_file(str(file)):
                        gathered.write_value(key, gathered.read_value(key)[0] + value, 0.0)
                finally:
                    gathered.close()
            file.unlink()


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _own_folder() -> Path:
    # Those of processes that were killed, or that a drain ended, lie there still.
    for left in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        pid = left.name.removeprefix(_PREFIX).partition("-")[0]
        if pid.isdecimal() and not _lives(int(pid)):
            shutil.rmtree(left, ignore_errors=True)
    owner = os.getpid()
    folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{owner}-"))

    def remove() -> None:
        if os.getpid() == owner:  # and not by its children, which inherit this
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return folder
