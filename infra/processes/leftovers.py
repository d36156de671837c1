"""End the processes of a child that died, and of a stack that was killed. Knows no orders.

A child leads a process group, which its own children stay in. The kernel gives its number to nothing else
while one of them lives. After a crash of the supervisor they are found by a mark in their environment.
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
    """Return the value of `MARK` for the children of a home. Its path could be another container's too."""
    found = folder.stat()
    return f"{found.st_dev}:{found.st_ino}"


def end_group(leader: int) -> None:
    """KILL what lives on of the group of `leader`, a child that was waited for."""
    _kill(lambda: [process for process in _living() if _group_of(process) == leader])


def end_marked(mark: str) -> None:
    """End all processes with `mark`: by TERM those that no other of them started, then KILL the rest.

    A pool's child that got TERM from us would look like a crash to its parent.
    """

    def marked() -> list[psutil.Process]:
        return [process for process in _living() if (process.info["environ"] or {}).get(MARK) == mark]

    left = marked()
    pids = {process.pid for process in left}
    for process in left:
        with suppress(psutil.Error):
            if process.ppid() not in pids:
                process.terminate()
    psutil.wait_procs(left, timeout=_TERM_S)
    _kill(marked)


def _living() -> list[psutil.Process]:
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
    while (left := find()) and time.monotonic() < until:
        for process in left:
            with suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(left, timeout=0.1)
