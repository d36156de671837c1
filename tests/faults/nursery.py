"""Starts the product's processes by fork, from one that has imported them already.

A life begins with two seconds of imports, which would be most of what two cores do when processes are killed
by the hundred. What runs after the fork is what runs after `python -m`: no connection, thread or container
is made before it. Orders come as JSON lines on standard input; each is answered with a process id. When the
input closes, the nursery ends, and the kernel ends what it started.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import signal
import sys
import traceback
from typing import Any

_LIBC = ctypes.CDLL(None)
_PR_SET_PDEATHSIG = 1
PRELOADED = (
    "billiard.popen_fork",
    "celery.__main__",
    "celery.app.control",
    "celery.app.log",
    "celery.apps.worker",
    "celery.bin.celery",
    "celery.concurrency.prefork",
    "celery.events.receiver",
    "celery.worker.autoscale",
    "celery.worker.components",
    "celery.worker.consumer",
    "celery.worker.strategy",
    "kombu.transport.redis",
    "services.api.__main__",
    "services.api.app",
    "services.doorbell",
    "services.decoding.decoder",
    "services.workers.app",
    "services.workers.courier",
    "services.workers.sweeper",
    "tests.faults.api",
    "tests.servers.receiver",
    "tests.stand_ins",
)


def become(wanted: dict[str, Any]) -> None:
    """In the child: its own session, log and environment, then the module's `main`, or another program."""
    os.setsid()
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    log = os.open(wanted["log"], os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(source, target)
    os.environ.update(wanted["env"])
    if not wanted["module"]:
        os.execvp(wanted["argv"][0], wanted["argv"])
    sys.argv = wanted["argv"]
    importlib.import_module(wanted["module"]).main()


def main() -> None:
    """Import, then fork on demand until standard input closes."""
    for name in PRELOADED:
        importlib.import_module(name)
    gc.freeze()  # Celery collects at each start, and need not walk through all of this again
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel buries the dead
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    print("ready", flush=True)
    while line := sys.stdin.readline():
        if (pid := os.fork()) == 0:
            code = 0
            try:
                become(json.loads(line))
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else int(bool(end.code))
                print(end, file=sys.stderr)
            except BaseException:
                traceback.print_exc()
                code = 1
            finally:
                sys.stderr.flush()
                os._exit(code)
        print(pid, flush=True)


if __name__ == "__main__":
    main()
