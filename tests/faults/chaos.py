"""Kill and freeze processes and flush Redis, on a schedule drawn from a seed.

The schedule counts finished orders, not seconds: faults hit a busy stack however fast the machine is, and
each waits for progress since the last.
"""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import redis

from schemas.errors import StorageUnavailable
from tests.faults.running_stack import Part, RunningStack

# Seconds under SIGSTOP: half are longer than the lease.
FREEZE_S = (1.0, 9.0)
TARGET_WAIT_S = 30.0


@dataclass(frozen=True)
class Fault:
    """After `at` finished orders, `how` is done to a part of this `kind`."""

    at: int
    kind: str
    how: str


def schedule(seed: int, orders: int, counts: dict[str, int]) -> list[Fault]:
    """Return `counts[kind]` faults of each kind, shuffled, over the first nine tenths of the orders."""
    rng = random.Random(seed)
    kinds = [kind for kind, number in sorted(counts.items()) for _ in range(number)]
    rng.shuffle(kinds)
    step = 0.9 * orders / max(1, len(kinds))
    return [
        Fault(int(step * (index + rng.random())), kind, _how(kind, rng)) for index, kind in enumerate(kinds)
    ]


def _how(kind: str, rng: random.Random) -> str:
    if kind in ("flush", "freeze"):
        return kind
    return rng.choice(("main", "group", "child")) if kind == "worker" else "main"


class Chaos:
    """Run a schedule against a stack; `done` counts the faults that happened."""

    def __init__(
        self, stack: RunningStack, faults: list[Fault], progress: Callable[[], int], seed: int
    ) -> None:
        self._stack, self._faults, self._progress = stack, faults, progress
        self._rng = random.Random(seed)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thaws: list[threading.Thread] = []
        self.done: Counter[str] = Counter()
        self.failure: BaseException | None = None

    def start(self) -> None:
        self._thread.start()

    def join(self) -> None:
        """Wait until the schedule is done; raise the error that stopped it."""
        self._thread.join()
        for thaw in self._thaws:
            thaw.join()
        if self.failure is not None:
            raise self.failure

    def _run(self) -> None:
        try:
            for fault in self._faults:
                while self._ended() < fault.at:
                    time.sleep(0.1)
                self._do(fault)
        except BaseException as error:
            self.failure = error

    def _ended(self) -> int:
        try:
            return self._progress()
        except StorageUnavailable:
            return 0

    def _do(self, fault: Fault) -> None:
        if fault.kind == "flush":
            self._flush()
            return
        until = time.monotonic() + TARGET_WAIT_S
        kind = "worker" if fault.kind == "freeze" else fault.kind
        while time.monotonic() < until:
            up = [part for part in self._stack.named(kind) if part.alive and part.ready()]
            if up:
                part = self._rng.choice(up)
                if fault.kind == "freeze":
                    self._freeze(part)
                    self.done["freeze worker"] += 1
                    return
                if self._stack.kill(part, fault.how):
                    self.done[f"kill {kind}" + (f" ({fault.how})" if kind == "worker" else "")] += 1
                    return
            time.sleep(0.05)
        raise RuntimeError(f"no {kind} was up for {TARGET_WAIT_S:.0f} s")

    def _flush(self) -> None:
        until = time.monotonic() + TARGET_WAIT_S
        while time.monotonic() < until:
            try:
                with self._stack.redis() as client:
                    client.flushall()
                    self.done["flush Redis"] += 1
                    return
            except redis.RedisError:
                time.sleep(0.1)
        raise RuntimeError("Redis took no FLUSHALL")

    def _freeze(self, part: Part) -> None:
        pid, pidfd, freeze_s = part.pid, part.pidfd, self._rng.uniform(*FREEZE_S)
        os.killpg(pid, signal.SIGSTOP)

        def thaw() -> None:
            time.sleep(freeze_s)
            # The same pidfd means the same process: it was not killed and restarted meanwhile.
            if part.pidfd == pidfd and part.alive:
                with suppress(ProcessLookupError):  # killed since the check
                    os.killpg(pid, signal.SIGCONT)

        thread = threading.Thread(target=thaw, daemon=True)
        thread.start()
        self._thaws.append(thread)
