"""Start child processes in order of dependency, restart them, and leave none behind.

Knows no orders. Each child leads its own session and writes to a log file, which is rotated while it runs.
Children are ended:

1. by `stop` (also at exit): TERM, wait, KILL, to the whole session, in reverse order of dependency.
2. if the supervisor is killed: the kernel sends each child TERM (PR_SET_PDEATHSIG).
3. if a child survives that: the next start on this home ends the processes of the record (`record.py`).

One thread starts and stops all children, since the kernel ties PR_SET_PDEATHSIG to the thread that started
the child: a child of a short-lived thread would die with it.
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
from infra.processes.child import Child, ChildFailed, HomeInUse, Restart, Run, SupervisorError
from infra.processes.record import Record

__all__ = ["Child", "ChildFailed", "HomeInUse", "Restart", "StatusChange", "Supervisor", "SupervisorError"]

_POLL_S = 0.1
_LOGS_EVERY_S = 1.0


@dataclass(frozen=True, slots=True)
class StatusChange:
    """A change of a child's status, for a progress display. `seconds` is the duration of the step before."""

    name: str
    status: str  # starting, ready, died, stopping, stopped
    seconds: float = 0.0
    detail: str = ""


class Supervisor:
    """Runs children on `home`, whose `run/` holds lock and record; `about` describes the stack to others.

    `on_change` is called from the supervisor's threads and must be quick.
    """

    def __init__(
        self,
        home: Path,
        on_change: Callable[[StatusChange], None] = lambda _: None,
        about: str = "",
    ) -> None:
        self._mark = str(home.resolve())
        self._runs: dict[str, Run] = {}
        self._run_dir = home / "run"
        self._record = self._run_dir / "children.json"
        self._on_change = on_change
        self._about = about
        self._logs_seen = 0.0
        self._owner = processes.identify(os.getpid(), "supervisor")
        self._lock = FileLock(self._run_dir / "stack.lock", thread_local=False)
        self._thread = threading.Thread(target=self._live, name="supervisor", daemon=True)
        self._all_ready = threading.Event()
        self._stopping = threading.Event()
        self._hurry = threading.Event()
        self._ended = threading.Event()
        self._failure: BaseException | None = None

    def claim(self) -> None:
        """Lock the home, and end the leftovers of a killed stack. `start` does it too; call it for work
        on the home that must come first (migrations, ports).

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
        """Start all and wait until each is ready; on any failure or Ctrl-C all are stopped again.

        Raises:
            HomeInUse: a living stack holds this home.
            ChildFailed: a child was not ready in time, or died too often.
        """
        self.claim()
        self._runs = {child.name: Run(child, self._mark) for child in children}
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
        """Raise the error that ended the supervisor, if any."""
        if self._failure is not None:
            raise self._failure

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for the end, and raise its cause; return False after `timeout_s` seconds."""
        ended = self._ended.wait(timeout_s)
        self.check()
        return ended

    def stop(self) -> None:
        """Stop all and unlock the home; harmless if repeated. Ctrl-C meanwhile turns TERM into KILL."""
        atexit.unregister(self.stop)
        self._stopping.set()
        while self._thread.is_alive():
            try:
                self._thread.join(0.2)
            except KeyboardInterrupt:
                self._hurry.set()
        self._lock.release()

    def pid(self, name: str) -> int | None:
        """Return the process id of a running child."""
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
        except BaseException as error:  # raised by `check`
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
                self._on_change(StatusChange(name, "starting"))
        elif run.process.poll() is not None:
            lived, what = run.age_s, run.reap()
            self._on_change(StatusChange(name, "died", lived, f"{what}; starting it again"))
        elif not run.ready:
            if run.child.ready():
                run.ready = True
                self._on_change(StatusChange(name, "ready", run.age_s))
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
        """Stop in waves: those together that no other running child needs."""
        running = {name: run for name, run in self._runs.items() if run.process is not None}
        while running:
            needed = {need for run in running.values() for need in run.child.needs}
            wave = [run for name, run in running.items() if name not in needed] or list(running.values())
            self._stop_together(wave)
            for run in wave:
                del running[run.child.name]
        self._record.unlink(missing_ok=True)

    def _stop_one(self, run: Run) -> None:
        began = time.monotonic()
        self._on_change(StatusChange(run.child.name, "stopping"))
        run.stop(self._hurry)
        self._on_change(StatusChange(run.child.name, "stopped", time.monotonic() - began))

    def _write_record(self) -> None:
        children = tuple(run.identity for run in self._runs.values() if run.process is not None)
        Record(self._owner, children, self._about).write(self._record)
