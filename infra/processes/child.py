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
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Event

from infra.processes.leftovers import MARK, end_group

LOG_CAP = 10_000_000
"""Bytes after which a log is rotated."""
STABLE_S, MAX_DELAY_S = 10.0, 10.0
_PR_SET_PDEATHSIG = 1
# Loaded before the fork: after it another thread may hold the loader's lock.
_LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


class SupervisorError(Exception):
    """The children can't be run. `detail` is one sentence, `hint` says how to fix it."""

    def __init__(self, detail: str, hint: str) -> None:
        super().__init__(detail)
        self.detail = detail
        self.hint = hint


class ChildFailed(SupervisorError):
    """A child didn't become ready, or died too often. `tail` is the end of its log."""

    def __init__(self, detail: str, hint: str, tail: str) -> None:
        super().__init__(detail, hint)
        self.tail = tail


@dataclass(frozen=True, slots=True)
class Child:
    """One process. `env` is added to the supervisor's own; `needs` are names that must be ready first.

    It is ready once `ready` is true and `ready_file` exists, which is removed before each start and named to
    the child as SAYCART_READY_FILE. `ready` is called about ten times a second and must return within about a
    second. `stop_s` is how many seconds the child may take to exit after TERM. `pass_fds` are inherited.
    `nice` (0 to 19) lowers the priority of its whole session.

    A restart waits `restart_delay_s`, doubled after each death within 10 s of its start. After `quick_deaths`
    of them in a row the supervisor gives up.
    """

    name: str
    argv: tuple[str, ...]
    log_path: Path
    ready: Callable[[], bool] = lambda: True
    ready_file: Path | None = None
    ready_timeout_s: float = 60.0
    env: Mapping[str, str] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    restart_delay_s: float = 0.5
    quick_deaths: int = 3
    stop_s: float = 10.0
    pass_fds: tuple[int, ...] = ()
    nice: int = 0


def _in_child(parent: int, nice: int) -> None:
    """End with the parent, and lower the priority; runs between fork and exec."""
    if _LIBC is not None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # it died before the line above
            os._exit(1)
    if nice:
        os.nice(nice)
        # With autogroups (sched(7)) the line above only has an effect inside the session.
        with suppress(OSError):
            Path("/proc/self/autogroup").write_text(str(nice))


class Run:
    """A child across its restarts. Used by the supervisor's thread alone."""

    def __init__(self, child: Child, mark: str) -> None:
        self.child = child
        self.process: subprocess.Popen[bytes] | None = None
        self.ready = False
        self._mark = mark
        self._began = 0.0
        self._log_from = 0
        self._deaths = 0
        self._again_at = 0.0
        self._stop_by = 0.0

    @property
    def age_s(self) -> float:
        """Seconds since the last start."""
        return time.monotonic() - self._began

    @property
    def due(self) -> bool:
        """True if its restart delay is over."""
        return time.monotonic() >= self._again_at

    def spawn(self) -> None:
        """Start it.

        Raises:
            ChildFailed: the program is missing or may not be run.
        """
        child = self.child
        env = {**os.environ, **child.env, MARK: self._mark}
        if child.ready_file:
            child.ready_file.parent.mkdir(parents=True, exist_ok=True)
            child.ready_file.unlink(missing_ok=True)
            env["SAYCART_READY_FILE"] = str(child.ready_file)
        child.log_path.parent.mkdir(parents=True, exist_ok=True)

        with child.log_path.open("ab") as log:
            self._log_from = log.tell()
            self._began = time.monotonic()
            try:
                self.process = subprocess.Popen(
                    child.argv,
                    env=env,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    preexec_fn=partial(_in_child, os.getpid(), child.nice),
                    pass_fds=child.pass_fds,
                )
            except OSError as error:
                raise self.failed(f"could not be started: {error}") from error

    def becomes_ready(self) -> bool:
        """Return whether it is ready by now."""
        file = self.child.ready_file
        self.ready = (file is None or file.exists()) and self.child.ready()
        return self.ready

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
        code, quick = self.process.returncode, self.age_s < STABLE_S
        what = (
            f"ended with signal {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        )
        self._end()
        self._deaths = self._deaths + 1 if quick else 0
        if self._deaths >= self.child.quick_deaths:
            raise self.failed(f"{what}, {self._deaths} times in a row")
        delay_s = self.child.restart_delay_s * 2 ** max(0, self._deaths - 1)
        self._again_at = time.monotonic() + min(MAX_DELAY_S, delay_s)
        return what

    def terminate(self) -> None:
        """Send TERM: it has `stop_s` seconds from now."""
        self._stop_by = time.monotonic() + self.child.stop_s
        if self.process is not None:
            self.process.terminate()

    def stop(self, hurry: Event) -> None:
        """Wait until its time is up or `hurry` is set, then KILL it with its own children."""
        if self.process is None:
            return
        while self.process.poll() is None and time.monotonic() < self._stop_by and not hurry.is_set():
            time.sleep(0.02)
        self._end()

    def _end(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()
        end_group(self.process.pid)
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
