"""Start child processes in order of dependency, restart them, and leave none behind.

Each child leads its own process group and writes to a log file, which is rotated while it
runs. Children are ended:

1. by `stop` (also at exit): TERM, wait, KILL to its whole group, in reverse order of dependency.
2. if the supervisor is killed: the kernel sends each child TERM (PR_SET_PDEATHSIG).
3. if a child survives that: by the next start on this home (`leftovers.py`).

One thread starts and stops all children, since the kernel ties PR_SET_PDEATHSIG to the thread that started
the child: a child of a short-lived thread would die with it.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

from infra.processes.child import Child, ChildFailed, Run, SupervisorError
from infra.processes.leftovers import end_marked, mark_of

__all__ = ["Child", "ChildFailed", "Supervisor", "SupervisorError"]

_POLL_S = 0.1


class Supervisor:
    """Runs children on `home`, whose `run/` holds a lock and the list of their pids.

    `on_change` is called from the supervisor's thread with a child's name and its new status in words, and
    must be quick. `about` describes the stack to others.
    """

    def __init__(
        self, home: Path, on_change: Callable[[str, str], None] = lambda *_: None, about: str = ""
    ) -> None:
        self._home = home.resolve()
        self._runs: dict[str, Run] = {}
        self._list = home / "run" / "processes"
        self._on_change = on_change
        self._about = about
        self._lock = FileLock(home / "run" / "stack.lock", thread_local=False)
        self._thread = threading.Thread(target=self._live, name="supervisor", daemon=True)
        self._all_ready = threading.Event()
        self._stopping = threading.Event()
        self._hurry = threading.Event()
        self._end: Future[None] = Future()

    def claim(self) -> None:
        """Lock the home, and end the leftovers of a killed stack. `start` does it too; call it for work
        on the home that must come first (migrations, ports).

        Raises:
            SupervisorError: a living stack holds it.
        """
        if self._lock.is_locked:
            return
        self._list.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            other = "starting"
            with suppress(OSError):
                other = self._list.read_text().partition("\n")[0]
            raise SupervisorError(
                f"A stack is already running on {self._home} ({other}).",
                "Use that one, stop it with Ctrl-C or `kill PID`, or set SAYCART_HOME to another folder.",
            ) from None
        end_marked(mark_of(self._home))
        self._write_list()

    def start(self, children: Iterable[Child]) -> None:
        """Start all and wait until each is ready; on any failure or Ctrl-C all are stopped again.

        Raises:
            SupervisorError: a living stack holds this home.
            ChildFailed: a child was not ready in time, or died too often.
        """
        self.claim()
        mark = mark_of(self._home)
        self._runs = {child.name: Run(child, mark) for child in children}
        atexit.register(self.stop)
        self._thread.start()
        try:
            self._all_ready.wait()
            self.check()
        except BaseException:
            self.stop()
            raise

    def check(self) -> None:
        """Raise the error that ended the supervisor, if any."""
        if self._end.done():
            self._end.result()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for the end, and raise its cause; return False after `timeout_s` seconds."""
        with suppress(TimeoutError):
            self._end.result(timeout_s)
        self.check()
        return self._end.done()

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
            try:
                while not self._stopping.wait(_POLL_S):
                    for run in self._runs.values():
                        self._step(run)
                    if all(run.ready for run in self._runs.values()):
                        self._all_ready.set()
            finally:
                self._stop_all()
            self._end.set_result(None)
        except BaseException as error:  # raised by `check`
            self._end.set_exception(error)
        finally:
            self._all_ready.set()

    def _step(self, run: Run) -> None:
        name = run.child.name
        run.rotate_log()
        if run.process is None:
            if run.due and all(self._runs[need].ready for need in run.child.needs):
                run.spawn()
                self._write_list()
                self._on_change(name, "starting")
        elif run.process.poll() is not None:
            self._on_change(name, f"died ({run.reap()}; starting it again)")
        elif not run.ready:
            if run.becomes_ready():
                self._on_change(name, f"ready ({run.age_s:.1f} s)")
            elif run.age_s > run.child.ready_timeout_s:
                raise run.failed(f"was not ready within {run.child.ready_timeout_s:.0f} s")

    def _stop_all(self) -> None:
        """Stop in waves: those together that no other running child needs."""
        running = {name: run for name, run in self._runs.items() if run.process is not None}
        while running:
            needed = {need for run in running.values() for need in run.child.needs}
            wave = [name for name in running if name not in needed] or list(running)
            for name in wave:
                self._on_change(name, "stopping")
                running[name].terminate()
            for name in wave:
                running.pop(name).stop(self._hurry)
                self._on_change(name, "stopped")
        self._list.unlink(missing_ok=True)

    def _write_list(self) -> None:
        """Write the pids for people, and for the message of another supervisor."""
        running = {name: run.process.pid for name, run in self._runs.items() if run.process is not None}
        lines = [f"pid {os.getpid()} {self._about}", *(f"{name} {pid}" for name, pid in running.items())]
        self._list.write_text("".join(f"{line.strip()}\n" for line in lines))
