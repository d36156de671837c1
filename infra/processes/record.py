"""Which processes are ours, and how a group of them is ended. Knows no orders.

A process id alone proves nothing, because the kernel hands numbers out again: a process is known here by
its id and its start time. A child leads a session of its own, so its session id finds the grandchildren
(the pool of a Celery worker) even when the child itself is gone.
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
class Known:
    """A process by id and start time (clock ticks since boot, as the kernel counts them)."""

    pid: int
    started: int
    name: str = ""

    @property
    def alive(self) -> bool:
        return started(self.pid) == self.started


@dataclass(frozen=True, slots=True)
class Record:
    """What a supervisor writes down about itself and its children, for those that tidy up after it."""

    owner: Known
    children: tuple[Known, ...] = ()
    about: str = ""

    def write(self, path: Path) -> None:
        """Replace `path` in one step, so that a reader never sees half of it."""
        half = path.with_suffix(".new")
        half.write_text(json.dumps(asdict(self), indent=1))
        half.replace(path)

    @classmethod
    def read(cls, path: Path) -> Record | None:
        """What `path` says; None when there is no record or it can't be understood."""
        try:
            raw = json.loads(path.read_text())
            children = tuple(Known(**child) for child in raw["children"])
            return cls(Known(**raw["owner"]), children, str(raw["about"]))
        except (OSError, ValueError, TypeError, KeyError):
            return None


def _stat(pid: int) -> list[str]:
    try:
        text = (_PROC / str(pid) / "stat").read_text()
    except OSError:
        return []
    return text.rpartition(")")[2].split()


def started(pid: int) -> int | None:
    """Start time of a living process; None when it is gone, or a zombie that awaits its parent."""
    fields = _stat(pid)
    return int(fields[_STARTED]) if fields and fields[0] not in "ZX" else None


def known(pid: int, name: str = "") -> Known:
    """This process as it is now. A process that is gone already gets start time -1, and is never `alive`."""
    found = started(pid)
    return Known(pid, -1 if found is None else found, name)


def _marked(pid: int, mark: str) -> bool:
    """Whether it was started with `mark`. A program that shows a title of its own (vLLM's engine) writes it
    over the beginning of its environment: it can't be asked any more, and is taken for ours."""
    try:
        environment = (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return False
    return f"{HOME_MARK}={mark}".encode() in environment or b"=" not in environment[0]


def members(leader: Known, mark: str) -> list[int]:
    """Ids of the living processes in the leader's session, the leader first.

    When the leader is gone its number may have been given to a stranger since, so its orphans must also
    carry `mark` in the environment they were started with.
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
    """Signal each; those that went meanwhile are passed over."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except (ProcessLookupError, PermissionError):
            continue


def end(leaders: tuple[Known, ...], mark: str, grace_s: float) -> None:
    """TERM to each leader, up to `grace_s` seconds to tidy up, then KILL to all that is left of its session.

    Only the leader gets TERM: it knows how to end its own children, and a pool child that is told to end
    behind its back would look to it like a crash.
    """
    send([leader.pid for leader in leaders if leader.alive], signal.SIGTERM)
    until = time.monotonic() + grace_s
    while any(leader.alive for leader in leaders) and time.monotonic() < until:
        time.sleep(0.05)
    until = time.monotonic() + 5  # KILL needs no grace, but the kernel frees large memory in its own time
    while (left := [pid for leader in leaders for pid in members(leader, mark)]) and time.monotonic() < until:
        send(left, signal.SIGKILL)
        time.sleep(0.02)
