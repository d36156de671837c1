"""Runs a Celery worker as the settings say: `python -m services.workers.worker decode`.

Both containers and the stack start their workers with these arguments.
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

# The queues that each worker serves; workers are named after their first stage. `validate` takes milliseconds
# and is nearly always run by the worker that decoded the order.
_SERVED = ((StageName.TRANSCRIBE,), (StageName.DECODE, StageName.VALIDATE))
WORKERS = {stages[0].value: ",".join(stages) for stages in _SERVED}


def worker_argv(name: str, config: Settings) -> tuple[str, ...]:
    """Return the command line of one of `WORKERS`."""
    threads = config.decode_concurrency if name == StageName.DECODE else 1
    return celery_argv(name, WORKERS[name], threads, config.log_level)


def celery_argv(name: str, queues: str, threads: int, log_level: str) -> tuple[str, ...]:
    """Return a worker's command line. Threads suit a stage that waits for a server; processes have a hard
    time limit."""
    # Gossip, mingle and heartbeats are for workers that watch each other; here, a supervisor does.
    quiet = ("--without-gossip", "--without-mingle", "--without-heartbeat")
    app = (sys.executable, "-m", "celery", "-A", "services.workers.app", "worker")
    pool = ("--pool=threads" if threads > 1 else "--pool=prefork", f"--concurrency={threads}")
    return (*app, "-Q", queues, *pool, "-n", f"{name}@%h", f"--loglevel={log_level.upper()}", *quiet)


def main() -> None:
    """Replace this process by a worker; exit with status 2 for an unknown name."""
    parser = argparse.ArgumentParser(prog="services.workers.worker")
    parser.add_argument("name", choices=sorted(WORKERS))
    config = settings()
    if config.metrics_port:
        # A pool's processes write their metrics to files, and the main process serves the sums.
        folder = Path(tempfile.gettempdir(), f"saycart-metrics-{config.metrics_port}")
        os.environ[metrics.MULTIPROC_DIR] = str(metrics.recreate(folder))
    argv = worker_argv(parser.parse_args().name, config)
    os.execv(argv[0], argv)  # noqa: S606  # a fixed list; Celery must get the signals


if __name__ == "__main__":
    main()
