"""Starts child processes in the order of their needs, keeps them alive, and leaves none behind.

Knows no orders. Each child leads its own session and writes to a log file, which is put aside while it runs
(`logs.py`), and whose files are its user's alone (`private.py`). Against what is left behind:

1. `stop` (also at exit): TERM, wait, KILL, to the whole session, in reverse order of need.
2. The supervisor is killed: the kernel sends each child TERM (PR_SET_PDEATHSIG).
3. A child does not end by that: the next start on this home ends what the record lists (`record.py`).

One thread does all of the starting and stopping, since the kernel ties PR_SET_PDEATHSIG to the thread
that started the child, not to the process: a child started from a short-lived thread would die with it.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from infra.processes import record as processes
from infra.processes.child import LOG_CAP, Child, ChildFailed, HomeInUse, Restart, Run, SupervisorError
from infra.processes.record import Record

__all__ = ["Change", "Child", "ChildFailed", "HomeInUse", "Restart", "Supervisor", "SupervisorError"]

_POLL_S = 0.1
_LOGS_EVERY_S = 1.0


@dataclass(frozen=True, slots=True)
class Change:
    """One step in a child's life, for a progress display. `seconds` is how long the step before it took."""

    name: str
    status: str  # starting, ready, died, stopping, stopped
    seconds: float = 0.0
    detail: str = ""


class Supervisor:
    """Runs children on `home`, whose `run/` holds lock and record; `about` tells others what runs there.
    A log of over `log_cap` bytes is put aside, see `logs.rotate`.

    `on_change` is called from the supervisor's threads and must be quick.
    """

    def __init__(
        self,
        home: Path,
        on_change: Callable[[Change], None] = lambda _: None,
        about: str = "",
        log_cap: int = LOG_CAP,
    ) -> None:
        self._mark = str(home.resolve())
        self._runs: dict[str, Run] = {}
        self._run_dir = home / "run"
        self._record = self._run_dir / "children.json"
        self._on_change = on_change
        self._about = about
        self._log_cap = log_cap
        self._logs_seen = 0.0
        self._owner = processes.known(os.getpid(), "supervisor")
        self._lock = FileLock(self._run_dir / "stack.lock", thread_local=False)
        self._thread = threading.Thread(target=self._live, name="supervisor", daemon=True)
        self._all_ready = threading.Event()
        self._stopping = threading.Event()
        self._hurry = threading.Event()
        self._ended = threading.Event()
        self._failure: BaseException | None = None

    def claim(self) -> None:
        """Take the home, and end what a killed stack left on it. `start` does it too; call it before for
        work on the home that must come first (migrations, ports).

        Raises:
            HomeInUse: a living stack holds it.
        """
        if self._lock.is_locked:
            return
        self._run_dir.mkdir(parents=True, exist_ok=True)
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            other = Record.read(self._record)
            who = f" (pid {other.owner.pid}{', ' + other.about if other.about else ''})" if other else ""
            raise HomeInUse(
                f"A stack is already running on {self._mark}{who}.",
                "Use that one, stop it with Ctrl-C or `kill PID`, or set SAYCART_HOME to another folder.",
            ) from None
        if (stale := Record.read(self._record)) is not None:
            processes.end(stale.children, self._mark, grace_s=3.0)
        self._write_record()

    def start(self, children: Iterable[Child]) -> None:
        """Start all and wait until each is ready; on any failure, Ctrl-C included, all are stopped again.

        Raises:
            HomeInUse: a living stack holds this home.
            ChildFailed: a child was not ready in time, or died too often.
        """
        self.claim()
        self._runs = {child.name: Run(child, self._mark, self._log_cap) for child in children}
        atexit.register(self.stop)
        self._thread.start()
        try:
            while not self._all_ready.wait(_POLL_S) and not self._ended.is_set():
                pass
            self.check()
        except BaseException:
            self.stop()
            raise

    def check(self) -> None:
        """Raises what ended the supervisor, if anything did."""
        if self._failure is not None:
            raise self._failure

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for the end, and raise what caused it; False when `timeout_s` seconds went by before."""
        ended = self._ended.wait(timeout_s)
        self.check()
        return ended

    def stop(self) -> None:
        """End all and give the home back; harmless when repeated. A Ctrl-C meanwhile turns TERM into KILL."""
        atexit.unregister(self.stop)
        self._stopping.set()
        while self._thread.is_alive():
            try:
                self._thread.join(0.2)
            except KeyboardInterrupt:
                self._hurry.set()
        self._lock.release()

    def pid(self, name: str) -> int | None:
        """Process id of a running child."""
        process = self._runs[name].process
        return process.pid if process is not None and process.poll() is None else None

    # What follows runs on the supervisor's own thread.

    def _live(self) -> None:
        try:
            while not self._stopping.wait(_POLL_S):
                for run in list(self._runs.values()):
                    self._step(run)
                self._rotate_logs()
                if all(run.ready for run in self._runs.values()):
                    self._all_ready.set()
        except BaseException as error:  # handed to whoever waits, by `check`
            self._failure = error
        finally:
            try:
                self._stop_all()
            finally:
                self._ended.set()

    def _step(self, run: Run) -> None:
        name = run.child.name
        if run.process is None:
            if run.due and all(self._runs[need].ready for need in run.child.needs):
                run.spawn()
                self._write_record()
                self._on_change(Change(name, "starting"))
        elif run.process.poll() is not None:
            lived, what = run.age_s, run.bury()
            self._on_change(Change(name, "died", lived, f"{what}; starting it again"))
        elif not run.ready:
            if run.child.ready():
                run.ready = True
                self._on_change(Change(name, "ready", run.age_s))
            elif run.age_s > run.child.ready_timeout_s:
                raise run.failed(f"was not ready within {run.child.ready_timeout_s:.0f} s")

    def _rotate_logs(self) -> None:
        if time.monotonic() >= self._logs_seen + _LOGS_EVERY_S:
            for run in self._runs.values():
                run.rotate_log()
            self._logs_seen = time.monotonic()

    def _stop_together(self, wave: list[Run]) -> None:
        ends = [threading.Thread(target=self._stop_one, args=(run,)) for run in wave]
        for thread in ends:
            thread.start()
        for thread in ends:
            thread.join()

    def _stop_all(self) -> None:
        """In waves: together those that no other still needs."""
        left = {name: run for name, run in self._runs.items() if run.process is not None}
        while left:
            needed = {need for run in left.values() for need in run.child.needs}
            wave = [run for name, run in left.items() if name not in needed] or list(left.values())
            self._stop_together(wave)
            for run in wave:
                del left[run.child.name]
        self._record.unlink(missing_ok=True)

    def _stop_one(self, run: Run) -> None:
        began = time.monotonic()
        self._on_change(Change(run.child.name, "stopping"))
        run.stop(self._hurry)
        self._on_change(Change(run.child.name, "stopped", time.monotonic() - began))

    def _write_record(self) -> None:
        children = tuple(run.known for run in self._runs.values() if run.process is not None)
        Record(self._owner, children, self._about).write(self._record)
