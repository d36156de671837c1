"""One supervised child process: its description, start, stop and last log lines."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

from infra.private import UMASK
from infra.processes import record as processes
from infra.processes.record import HOME_MARK, ProcessId

LOG_CAP = 10_000_000
"""Bytes after which a log is rotated."""
_PR_SET_PDEATHSIG = 1
# Loaded before the fork: after it another thread may hold the loader's lock.
_LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


class SupervisorError(Exception):
    """The children can't be run. `detail` is one sentence, `hint` says how to fix it."""

    def __init__(self, detail: str, hint: str) -> None:
        super().__init__(detail)
        self.detail = detail
        self.hint = hint


class HomeInUse(SupervisorError):
    """Another living stack holds this home."""


class ChildFailed(SupervisorError):
    """A child didn't become ready, or died too often. `tail` is the end of its log."""

    def __init__(self, detail: str, hint: str, tail: str) -> None:
        super().__init__(detail, hint)
        self.tail = tail


@dataclass(frozen=True, slots=True)
class Restart:
    """The restart policy: waits `delay_s` before a restart, doubled up to `max_delay_s`. A death within
    `settle_s` of the start is a quick one; after `quick_deaths` in a row the stack gives up. In seconds."""

    delay_s: float = 0.5
    max_delay_s: float = 10.0
    settle_s: float = 10.0
    quick_deaths: int = 3


@dataclass(frozen=True, slots=True)
class Child:
    """One process. `env` is added to the supervisor's own; `needs` are names that must be ready first.

    `ready` is called about ten times a second and must return within about a second. `prepare` runs before
    each start. `stop_s` is how many seconds the child may take to exit after TERM. `pass_fds` are inherited.
    """

    name: str
    argv: tuple[str, ...]
    log_path: Path
    ready: Callable[[], bool]
    ready_timeout_s: float = 60.0
    env: Mapping[str, str] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    restart: Restart = Restart()
    stop_s: float = 10.0
    prepare: Callable[[], None] = lambda: None
    pass_fds: tuple[int, ...] = ()


class Run:
    """A child across its restarts. Used by the supervisor's thread alone."""

    def __init__(self, child: Child, mark: str) -> None:
        self.child = child
        self.process: subprocess.Popen[bytes] | None = None
        self.identity = ProcessId(0, -1, child.name)
        self.ready = False
        self._mark = mark
        self._began = 0.0
        self._log_from = 0
        self._deaths = 0
        self._again_at = 0.0

    @property
    def age_s(self) -> float:
        """Seconds since the last start."""
        return time.monotonic() - self._began

    @property
    def due(self) -> bool:
        """True if it is not running and its restart delay is over."""
        return self.process is None and time.monotonic() >= self._again_at

    def spawn(self) -> None:
        """Start it.

        Raises:
            ChildFailed: the program is missing or may not be run.
        """
        child, parent = self.child, os.getpid()
        child.prepare()
        child.log_path.parent.mkdir(parents=True, exist_ok=True)
        self.rotate_log()

        def die_with_parent() -> None:
            if _LIBC is not None:
                _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
                if os.getppid() != parent:  # it died before the line above
                    os._exit(1)

        with child.log_path.open("ab") as log:
            self._log_from = log.tell()
            self._began = time.monotonic()
            try:
                self.process = subprocess.Popen(
                    child.argv,
                    env={**os.environ, **child.env, HOME_MARK: self._mark},
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    preexec_fn=die_with_parent,
                    pass_fds=child.pass_fds,
                    umask=UMASK,
                )
            except OSError as error:
                raise self.failed(f"could not be started: {error}") from error
        self.identity = processes.identify(self.process.pid, child.name)

    def rotate_log(self) -> None:
        """Rotate the log if it is too long."""
        if rotate(self.child.log_path):
            self._log_from = 0

    def reap(self) -> str:
        """After a death, end its orphans and schedule the restart; return what happened.

        Raises:
            ChildFailed: it died quickly too often in a row.
        """
        assert self.process is not None
        code, lived, policy = self.process.returncode, self.age_s, self.child.restart
        what = (
            f"ended with signal {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        )
        processes.end((self.identity,), self._mark, grace_s=0.0)
        self.process, self.ready = None, False
        quick = lived < policy.settle_s
        self._deaths = self._deaths + 1 if quick else 0
        if self._deaths >= policy.quick_deaths:
            raise self.failed(f"{what}, {self._deaths} times in a row")
        delay = min(policy.max_delay_s, policy.delay_s * 2 ** max(0, self._deaths - 1))
        self._again_at = time.monotonic() + delay
        return what

    def stop(self, hurry: Event) -> None:
        """Send TERM, wait up to `stop_s` seconds (none once `hurry` is set), then KILL its whole session."""
        if self.process is None:
            return
        began = time.monotonic()
        if self.process.poll() is None:
            self.process.terminate()
        while self.process.poll() is None and not hurry.is_set():
            if time.monotonic() - began > self.child.stop_s:
                break
            time.sleep(0.02)
        if self.process.poll() is None:
            processes.send(processes.members(self.identity, self._mark), signal.SIGKILL)
        self.process.wait()
        processes.end((self.identity,), self._mark, grace_s=0.0)
        self.process, self.ready = None, False

    def failed(self, what: str) -> ChildFailed:
        """Return the error to raise, with the child's last log lines."""
        tail = log_tail(self.child.log_path, self._log_from)
        last = tail.splitlines()[-1] if tail else "(it wrote nothing)"
        return ChildFailed(
            f"{self.child.name} {what}. Its last log line: {last}",
            f"See its log: {self.child.log_path}",
            tail,
        )


def rotate(path: Path) -> bool:
    """Move the content of a log over `LOG_CAP` bytes to `<name>.log.1`; return whether it was.

    A child and its own children keep the file open, so it is copied and truncated. That is safe because all
    writers append; lines written in between are lost. On a full disk it is truncated without a copy.
    """
    older = path.with_name(f"{path.name}.1")
    try:
        if path.stat().st_size <= LOG_CAP:
            return False
        try:
            shutil.copyfile(path, older)
        except OSError:
            older.unlink(missing_ok=True)
        os.truncate(path, 0)
    except OSError:  # gone, or not ours to change
        return False
    return True


def log_tail(path: Path, since: int = 0, lines: int = 12) -> str:
    """Return the last lines written to `path` after byte `since`, or its last lines if it was rotated."""
    try:
        with path.open("rb") as log:
            size = os.fstat(log.fileno()).st_size
            log.seek(max(since if since <= size else 0, size - 16_384))
            return "\n".join(log.read().decode(errors="replace").rstrip().splitlines()[-lines:])
    except OSError:
        return ""
