"""Start the product's processes by forking one that has already imported them.

Imports take two seconds; with hundreds of kills they would use most of two cores. No connection, thread or
container exists before the fork, so a child is the same as one of `python -m`. Requests are JSON lines on
standard input; each is answered with a process id. When the input closes, the server ends and the kernel
kills its children.
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


def become(request: dict[str, Any]) -> None:
    """In the child: set session, log and environment, then run the module's `main` or exec a program."""
    os.setsid()
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    log = os.open(request["log"], os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
    null = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((null, 0), (log, 1), (log, 2)):
        os.dup2(source, target)
    os.environ.update(request["env"])
    if not request["module"]:
        os.execvp(request["argv"][0], request["argv"])
    sys.argv = request["argv"]
    importlib.import_module(request["module"]).main()


def main() -> None:
    """Import, then fork on demand until standard input closes."""
    for name in PRELOADED:
        importlib.import_module(name)
    gc.freeze()  # Celery runs a collection at each start; exempt all modules from it
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps children
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
