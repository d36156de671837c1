"""Record the engine answers that the orders of a set need.

Each of `jobs` embedded servers takes whole menus, since a menu's prompt is cached. Two servers with one
thread each are 1.4 times as fast as one with two. Progress is stored in the working folder, so recording
resumes.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from schemas.errors import AudioRefused
from services.bootstrap import Container, bootstrap
from services.decoding.hosts.embedded import decode_server
from services.transcription.ports import Recording
from tests.gate.engines import shipped, taped_tools, transcribe_all
from tests.gate.rows import outcome, run
from tests.gate.sets import BABBLE_DB, GateSet, Order
from tests.gate.store import Store
from tests.golden.files import write
from tests.golden.noise import degrade, read

SEED = 1


class Recorder:
    """Record sets with several embedded servers.

    With `again`, all orders are rerecorded, for a new decoder: the tape is replaced once all are done, and
    the baseline stays.
    """

    def __init__(
        self,
        work: Path,
        people: Path | None,
        *,
        jobs: int = 2,
        again: bool = False,
    ) -> None:
        self._work, self._people, self._jobs = work, people, jobs
        self._again = again
        self._queue: queue.SimpleQueue[tuple[GateSet, Store, list[Order]]] = queue.SimpleQueue()

    def record(self, sets: list[GateSet]) -> None:
        """Record missing orders, and pack the sets."""
        stores = {one.name: Store(self._work, one.name, again=self._again) for one in sets}
        for one in sets:
            for orders in _by_menu(one.orders(self._people)):
                store = stores[one.name]
                if missing := [order for order in orders if store.lacks(order, spoken=one.spoken)]:
                    self._queue.put((one, store, missing))
        workers = [threading.Thread(target=self._run_worker) for _ in range(self._jobs)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        for one in sets:
            store = stores[one.name]
            remaining = sum(order.id not in store.done for order in one.orders(self._people))
            print(f"{one.name}: {len(store.done)} orders recorded, {remaining} left")
            if not (self._again and remaining):
                store.pack()

    def _run_worker(self) -> None:
        with live_engines(self._work, self._jobs) as live:
            while True:
                try:
                    one, store, orders = self._queue.get_nowait()
                except queue.Empty:
                    return
                audio = recordings(one, orders, self._work, self._people)
                for order in orders:
                    _record(order, live, audio, store)


@contextmanager
def live_engines(work: Path, jobs: int) -> Iterator[Container]:
    """Start embedded servers with an equal share of the cores."""
    threads = max(1, (os.cpu_count() or 1) // jobs)
    own = shipped(home=work / "home", threads=threads)
    with decode_server(own) as config:
        live = bootstrap(config)
        try:
            yield live
        finally:
            live.close()


def _record(order: Order, live: Container, audio: Path | None, store: Store) -> None:
    """Record an order's requests and all transcripts of its recording. A failed order is left for the next
    start."""
    tape = store.tape(order.gold["audio"] if audio else None)
    tools = taped_tools(live.settings, tape, live)
    row = None
    if order.id not in store.done:
        prediction = run(order, tools, audio)
        if error := prediction.get("error"):
            # Only the error's type: its message may quote a sealed order.
            print(f"an order of {order.menu.id} failed: {error.partition(':')[0]}", flush=True)
            return
        row = outcome(order, prediction)
    if audio is not None:
        with suppress(AudioRefused):
            transcribe_all(
                Recording(audio / order.gold["audio"], live.decode_audio), order.menu.language, tools
            )
    store.add(tape.new, row)


def recordings(one: GateSet, orders: list[Order], work: Path, people: Path | None) -> Path | None:
    """Return the folder of these orders' recordings, with babble added if the set has it; None for text."""
    if not one.spoken:
        return None
    clean = one.recordings(people)
    if not one.babble:
        return clean
    noisy = work / "recordings" / one.name
    noisy.mkdir(parents=True, exist_ok=True)
    for name in (order.gold["audio"] for order in orders):
        if not (noisy / name).exists():
            write(noisy / name, degrade(read(clean / name), BABBLE_DB, name, SEED))
    return noisy


def _by_menu(orders: list[Order]) -> Iterator[list[Order]]:
    for menu in dict.fromkeys(order.menu.id for order in orders):
        yield [order for order in orders if order.menu.id == menu]
