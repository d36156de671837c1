"""End the processes of a child that died, and of a stack that was killed.

A child leads a process group, in which its own children stay; the kernel doesn't reuse the group's number
while one of them is running. After a crash of the supervisor they are found by a mark in their environment.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil

MARK = "SAYCART_CHILD_OF"
_TERM_S, _KILL_S = 3.0, 5.0  # KILL needs no grace, but the kernel frees large memory in its own time


def mark_of(folder: Path) -> str:
    """Return the value of `MARK` for the children of a home; a path could also be another container's."""
    status = folder.stat()
    return f"{status.st_dev}:{status.st_ino}"


def end_group(leader: int) -> None:
    """KILL the rest of the group of `leader`, a child that has already been reaped."""
    _kill(lambda: [process for process in _running() if _group_of(process) == leader])


def end_marked(mark: str) -> None:
    """End all processes with `mark`: TERM those without a marked parent, then KILL the rest.

    TERM to a pool's child would look like a crash to its parent.
    """

    def marked() -> list[psutil.Process]:
        return [process for process in _running() if (process.info["environ"] or {}).get(MARK) == mark]

    processes = marked()
    pids = {process.pid for process in processes}
    for process in processes:
        with suppress(psutil.Error):
            if process.ppid() not in pids:
                process.terminate()
    psutil.wait_procs(processes, timeout=_TERM_S)
    _kill(marked)


def _running() -> list[psutil.Process]:
    # The environment of another user's process is None.
    return [
        process
        for process in psutil.process_iter(["status", "environ"])
        if process.info["status"] != psutil.STATUS_ZOMBIE and process.pid != os.getpid()
    ]


def _group_of(process: psutil.Process) -> int | None:
    try:
        return os.getpgid(process.pid)
    except OSError:
        return None


def _kill(find: Callable[[], list[psutil.Process]]) -> None:
    until = time.monotonic() + _KILL_S
    while (processes := find()) and time.monotonic() < until:
        for process in processes:
            with suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(processes, timeout=0.1)
