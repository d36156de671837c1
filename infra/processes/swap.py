"""A restart of one child that was asked for: one life ends in order, the next begins. Knows no orders."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread

from infra.processes.child import Child, ChildFailed, Run


class Swap:
    """Stepped by the supervisor's thread until `done`; `failure` is set when the new life did not come up.

    A child with `overlap` has its new life started beside the old one, which is ended once the new one is
    ready, and which stays if that does not happen. Any other is ended first; from then on its new life is
    the supervisor's like any other.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.done = Event()
        self.failure: ChildFailed | None = None
        self._new: Run | None = None
        self._old: Run | None = None
        self._leaving: Thread | None = None

    def step(self, runs: dict[str, Run], new_run: Callable[[Child], Run], end: Callable[[Run], None]) -> None:
        """Go on by what can be done now. `end` ends a run and may take as long as its child's `stop_s`."""
        old = runs[self.name]
        if self._new is None:
            self._new = new_run(old.child)
            if old.child.overlap:
                self._new.spawn()
            else:
                self._replace(runs, end)
        elif self._leaving is None:
            self._await_new(self._new, runs, end)
        elif not self._leaving.is_alive():
            self._new.held = False
            if self._new.ready:
                self.done.set()

    def beside(self) -> list[Run]:
        """The life that is not among the supervisor's runs: the new one at first, then the old one."""
        other = self._new if self._old is None else self._old
        return [other] if other is not None and other.process is not None else []

    def abandon(self, end: Callable[[Run], None]) -> None:
        """The supervisor stops: end what is not among its runs."""
        if self._leaving is not None:
            self._leaving.join()
        for run in self.beside():
            end(run)

    def _await_new(self, new: Run, runs: dict[str, Run], end: Callable[[Run], None]) -> None:
        if new.process is not None and new.process.poll() is not None:
            self._give_up(new, end, "ended while it took over; the old one goes on")
        elif new.child.ready():
            new.ready = True
            self._replace(runs, end)
        elif new.age_s > new.child.ready_timeout_s:
            self._give_up(new, end, "was not ready in time to take over; the old one goes on")

    def _replace(self, runs: dict[str, Run], end: Callable[[Run], None]) -> None:
        assert self._new is not None  # made before anything is replaced
        self._old, runs[self.name] = runs[self.name], self._new
        self._new.held = not self._old.child.overlap
        self._leaving = Thread(target=end, args=(self._old,), name=f"end-{self.name}")
        self._leaving.start()

    def _give_up(self, new: Run, end: Callable[[Run], None], what: str) -> None:
        self.failure = new.failed(what)
        end(new)
        self.done.set()
