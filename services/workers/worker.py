"""Become one Celery worker, as the settings have it: `python -m services.workers.worker decode`.

Containers and the stack start their workers with the argument list that is made here, so that what a setting
says of a worker holds in both.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from infra.observability import metrics
from infra.settings import Settings, settings
from schemas.lifecycle import StageName

# The queues that each Celery worker serves; a worker goes by its first stage. What `validate` takes is
# milliseconds, and nearly always done by the worker that decoded the order.
_SERVED = ((StageName.TRANSCRIBE,), (StageName.DECODE, StageName.VALIDATE))
WORKERS = {stages[0].value: ",".join(stages) for stages in _SERVED}


def worker_argv(name: str, config: Settings) -> tuple[str, ...]:
    """The argument list of one of `WORKERS`."""
    threads = config.decode_concurrency if name == StageName.DECODE else 1
    return celery_argv(name, WORKERS[name], threads, config.log_level)


def celery_argv(name: str, queues: str, threads: int, log_level: str) -> tuple[str, ...]:
    """One worker. More threads than one suit a stage that waits for a server; a process has a hard limit."""
    # Gossip, mingle and heartbeats are for workers that watch each other; here a supervisor watches.
    quiet = ("--without-gossip", "--without-mingle", "--without-heartbeat")
    app = (sys.executable, "-m", "celery", "-A", "services.workers.app", "worker")
    pool = ("--pool=threads" if threads > 1 else "--pool=prefork", f"--concurrency={threads}")
    return (*app, "-Q", queues, *pool, "-n", f"{name}@%h", f"--loglevel={log_level.upper()}", *quiet)


def main() -> None:
    """Exit status 2 for a name that is none of `WORKERS`; else Celery's own, in this very process."""
    parser = argparse.ArgumentParser(prog="services.workers.worker")
    parser.add_argument("name", choices=sorted(WORKERS))
    config = settings()
    if config.metrics_port:
        # A pool's processes measure in files, of which the first one shows the sums.
        folder = Path(tempfile.gettempdir(), f"saycart-metrics-{config.metrics_port}")
        os.environ[metrics.MEASURED] = str(metrics.empty(folder))
    argv = worker_argv(parser.parse_args().name, config)
    os.execv(argv[0], argv)  # noqa: S606  # a fixed list; signals must meet Celery and no parent of it


if __name__ == "__main__":
    main()
