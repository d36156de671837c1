"""Kills, freezes and flushes, by a schedule that a seed decides.

The clock of the schedule is how many orders have ended, not seconds: faults fall on a busy stack however
fast the machine is, and each one waits until the stack has come on since the last.
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
from tests.faults.works import Part, Works

# Seconds that a process sleeps under SIGSTOP: half are longer than the lease.
FREEZE_S = (1.0, 9.0)
TARGET_WAIT_S = 30.0


@dataclass(frozen=True)
class Fault:
    """Once `at` orders have ended, `how` is done to a part of this `kind`."""

    at: int
    kind: str
    how: str


def schedule(seed: int, orders: int, counts: dict[str, int]) -> list[Fault]:
    """Faults of these kinds and numbers, shuffled, evenly over the first nine tenths of the orders."""
    chance = random.Random(seed)
    kinds = [kind for kind, number in sorted(counts.items()) for _ in range(number)]
    chance.shuffle(kinds)
    step = 0.9 * orders / max(1, len(kinds))
    return [
        Fault(int(step * (place + chance.random())), kind, _how(kind, chance))
        for place, kind in enumerate(kinds)
    ]


def _how(kind: str, chance: random.Random) -> str:
    if kind in ("flush", "freeze"):
        return kind
    return chance.choice(("main", "group", "child")) if kind == "worker" else "main"


class Monkey:
    """Runs a schedule against a stack; `done` counts what was really done."""

    def __init__(self, works: Works, faults: list[Fault], progress: Callable[[], int], seed: int) -> None:
        self._works, self._faults, self._progress = works, faults, progress
        self._chance = random.Random(seed)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thaws: list[threading.Thread] = []
        self.done: Counter[str] = Counter()
        self.failure: BaseException | None = None

    def start(self) -> None:
        self._thread.start()

    def join(self) -> None:
        """Wait until the schedule has run to its end; raises what stopped it before."""
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
            up = [part for part in self._works.named(kind) if part.alive and part.ready()]
            if up:
                part = self._chance.choice(up)
                if fault.kind == "freeze":
                    self._freeze(part)
                    self.done["freeze worker"] += 1
                    return
                if self._works.kill(part, fault.how):
                    self.done[f"kill {kind}" + (f" ({fault.how})" if kind == "worker" else "")] += 1
                    return
            time.sleep(0.05)
        raise RuntimeError(f"no {kind} was up for {TARGET_WAIT_S:.0f} s")

    def _flush(self) -> None:
        until = time.monotonic() + TARGET_WAIT_S
        while time.monotonic() < until:
            try:
                with self._works.redis() as client:
                    client.flushall()
                    self.done["flush Redis"] += 1
                    return
            except redis.RedisError:
                time.sleep(0.1)
        raise RuntimeError("Redis took no FLUSHALL")

    def _freeze(self, part: Part) -> None:
        pid, pidfd, nap = part.pid, part.pidfd, self._chance.uniform(*FREEZE_S)
        os.killpg(pid, signal.SIGSTOP)

        def thaw() -> None:
            time.sleep(nap)
            # By the same pidfd a life is known; one that was killed in its sleep needs no waking.
            if part.pidfd == pidfd and part.alive:
                with suppress(ProcessLookupError):  # killed since the line above
                    os.killpg(pid, signal.SIGCONT)

        thread = threading.Thread(target=thaw, daemon=True)
        thread.start()
        self._thaws.append(thread)
