"""Identify our processes, and end groups of them. Knows no orders.

A process id alone proves nothing, because the kernel reuses numbers: a process is identified by its id and
start time. A child leads a session of its own, so its session id finds its children (the pool of a Celery
worker) even if the child itself is gone.
"""

from __future__ import annotations

import json
import os
import signal
import time
from dataclasses import asdict, dataclass
from pathlib import Path

_PROC = Path("/proc")
_STARTED = 19  # field of /proc/PID/stat counted after the command's closing bracket (22 in proc(5))
HOME_MARK = "SAYCART_CHILD_OF"


@dataclass(frozen=True, slots=True)
class ProcessId:
    """A process by id and start time (the kernel's clock ticks since boot)."""

    pid: int
    started: int
    name: str = ""

    @property
    def alive(self) -> bool:
        return started(self.pid) == self.started


@dataclass(frozen=True, slots=True)
class Record:
    """A supervisor's record of itself and its children, for the cleanup after a crash."""

    owner: ProcessId
    children: tuple[ProcessId, ...] = ()
    about: str = ""

    def write(self, path: Path) -> None:
        """Replace `path` atomically."""
        unfinished = path.with_suffix(".new")
        unfinished.write_text(json.dumps(asdict(self), indent=1))
        unfinished.replace(path)

    @classmethod
    def read(cls, path: Path) -> Record | None:
        """Read `path`; None if there is no record or it is invalid."""
        try:
            raw = json.loads(path.read_text())
            children = tuple(ProcessId(**child) for child in raw["children"])
            return cls(ProcessId(**raw["owner"]), children, str(raw["about"]))
        except (OSError, ValueError, TypeError, KeyError):
            return None


def _stat(pid: int) -> list[str]:
    try:
        text = (_PROC / str(pid) / "stat").read_text()
    except OSError:
        return []
    return text.rpartition(")")[2].split()


def started(pid: int) -> int | None:
    """Return the start time of a living process; None if it is gone or a zombie."""
    fields = _stat(pid)
    return int(fields[_STARTED]) if fields and fields[0] not in "ZX" else None


def identify(pid: int, name: str = "") -> ProcessId:
    """Return a process's identity. One that is gone gets start time -1, and is never `alive`."""
    start = started(pid)
    return ProcessId(pid, -1 if start is None else start, name)


def _marked(pid: int, mark: str) -> bool:
    """Return whether it was started with `mark`. A program that sets its own title (vLLM's engine) overwrites
    the start of its environment, and then counts as ours."""
    try:
        environment = (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return False
    return f"{HOME_MARK}={mark}".encode() in environment or b"=" not in environment[0]


def members(leader: ProcessId, mark: str) -> list[int]:
    """Return the ids of living processes in the leader's session, the leader first.

    If the leader is gone its number may have been reused, so its orphans must also have `mark` in their
    environment.
    """
    lives = leader.alive
    found = []
    for entry in _PROC.iterdir() if _PROC.is_dir() else ():
        if entry.name.isdigit():
            fields = _stat(int(entry.name))
            if fields and fields[0] not in "ZX" and int(fields[3]) == leader.pid:
                found.append(int(entry.name))
    if not lives:
        found = [pid for pid in found if pid != leader.pid and _marked(pid, mark)]
    return sorted(found, key=lambda pid: pid != leader.pid)


def send(pids: list[int], number: int) -> None:
    """Signal each process that is still there."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except (ProcessLookupError, PermissionError):
            continue


def end(leaders: tuple[ProcessId, ...], mark: str, grace_s: float) -> None:
    """Send TERM to each leader, wait up to `grace_s` seconds, then KILL the rest of its session.

    Only the leader gets TERM: it ends its own children, and a pool child ended by us would look like a crash.
    """
    send([leader.pid for leader in leaders if leader.alive], signal.SIGTERM)
    until = time.monotonic() + grace_s
    while any(leader.alive for leader in leaders) and time.monotonic() < until:
        time.sleep(0.05)
    until = time.monotonic() + 5  # KILL needs no grace, but the kernel frees large memory in its own time
    while (
        remaining := [pid for leader in leaders for pid in members(leader, mark)]
    ) and time.monotonic() < until:
        send(remaining, signal.SIGKILL)
        time.sleep(0.02)
