"""Scenarios in which a store goes away: killed, cut off by the network, locked, or out of room."""

from __future__ import annotations

import sqlite3
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import httpx
from sqlalchemy import select

from infra.redis.server import binary
from services.storage.base.tables import OrderRow
from tests.faults.bench import Bench
from tests.faults.ledger import Entry, Ledger, spoken, typed
from tests.faults.works import Works
from tests.servers.postgresql import PostgreSQL

PROBE = 1_000_000  # the number of the order that shows that all is well again
PROBE_S = 300.0
LOCK_S = 40.0
_NAMES = count(1)


def database_killed(bench: Bench) -> dict[str, Any]:
    """PostgreSQL killed with -9, away for 10 s, and started again."""
    assert bench.server is not None
    with bench.works() as works:
        return outage(bench, works, bench.server.kill, bench.server.start, hold_s=10.0)


def database_cut(bench: Bench) -> dict[str, Any]:
    """PostgreSQL in a network namespace, its cable down: nothing is refused, nothing answers."""
    with cable() as wire:
        server = PostgreSQL(listen=wire.far, within=wire.within)
        try:
            with bench.works(database_url=server.create("cut")) as works:
                return outage(bench, works, wire.cut, wire.mend, hold_s=30.0)
        finally:
            wire.mend()
            server.stop()


def redis_cut(bench: Bench) -> dict[str, Any]:
    """Redis in a network namespace, its cable down."""
    with cable() as wire:
        folder = bench.folder / "far-redis"
        folder.mkdir()
        place = {"--bind": wire.far, "--port": "6379", "--protected-mode": "no", "--dir": str(folder)}
        kept = {"--appendonly": "yes", "--save": "", "--maxmemory-policy": "noeviction"}
        options = [word for pair in {**place, **kept}.items() for word in pair]
        argv = (*wire.within_as_root, str(binary()), *options)
        with bench.works(redis_argv=argv, redis_url=f"redis://{wire.far}:6379/0") as works:
            return outage(bench, works, wire.cut, wire.mend, hold_s=30.0)


def locked(bench: Bench) -> dict[str, Any]:
    """Another program holds an exclusive lock on SQLite for 40 s."""
    with bench.works() as works:
        holder = sqlite3.connect(str(works.database.url.database), timeout=10, check_same_thread=False)
        holder.isolation_level = None

        def lock() -> None:
            holder.execute("BEGIN EXCLUSIVE")

        def free() -> None:
            holder.execute("ROLLBACK")
            holder.close()

        return outage(bench, works, lock, free, hold_s=bench.size(int(LOCK_S), 15))


def outage(
    bench: Bench, works: Works, cut: Callable[[], None], mend: Callable[[], None], *, hold_s: float
) -> dict[str, Any]:
    """Under a light load: cut, hold, mend; how long until a new order completes, and the verdict."""
    ledger = Ledger(works.url, works.headers, threads=3, pace_s=1.0)
    ledger.start()
    time.sleep(4.0)
    before = Counter(ledger.answers)
    cut()
    time.sleep(hold_s)
    during = ledger.answers - before
    mend()
    began = time.monotonic()
    took = _probe(works, ledger, began)
    ledger.finish()
    found = bench.verdict(works, ledger, began)
    return {
        "away s": hold_s,
        "answers while away": dict(during),
        "a new order completed after s": took,
        **found,
    }


def disk_full(bench: Bench) -> dict[str, Any]:
    """A small tmpfs for the home fills up: recordings, and on SQLite the database too."""
    home = bench.folder / "small"
    home.mkdir()
    _run("mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(home))
    try:
        with bench.works(home=home) as works:
            return _filled(bench, works, home)
    finally:
        _run("umount", "-l", str(home))


def _filled(bench: Bench, works: Works, home: Path) -> dict[str, Any]:
    recording = b"RIFF\x00\x00\x00\x00WAVE" + bytes(200_000)

    def body(number: int, metadata: dict[str, Any]) -> dict[str, Any]:
        return spoken(number, metadata, recording) if number % 2 else typed(number, metadata)

    ledger = Ledger(works.url, works.headers, body=body)
    numbers = count(1)
    with httpx.Client(base_url=works.url, headers=works.headers, timeout=30.0, trust_env=False) as client:
        _send_once(ledger, client, numbers, 4)
        filler = home / "filler"
        with filler.open("wb") as file:
            try:
                while True:
                    file.write(bytes(65_536))
                    file.flush()
            except OSError:
                pass
        _send_once(ledger, client, numbers, bench.size(60, 12))
        full = dict(ledger.answers)
        accepted = {entry.number for entry in ledger.entries if entry.ids}
        stored = _numbers(works)
        filler.unlink()
        began = time.monotonic()
        for entry in ledger.entries:
            if not entry.ids:
                ledger.send(client, entry)
        took = _probe(works, ledger, began)
    found = bench.verdict(works, ledger, began)
    kept = sum(1 for path in works.settings.blobs.rglob("*") if path.is_file() and path.stat().st_size > 1000)
    phantoms = len(stored - accepted)
    return {
        "answers while full": full,
        "phantom orders": phantoms,
        "recordings": kept,
        "spoken orders": sum(entry.number % 2 for entry in ledger.entries),
        "a new order completed after s": took,
        **found,
        "doubled": found["doubled"] + phantoms,
    }


def _send_once(ledger: Ledger, client: httpx.Client, numbers: Iterator[int], many: int) -> None:
    for _ in range(many):
        number = next(numbers)
        ledger.entries.append(Entry(number, f"order-{number}"))
        ledger.post(client, ledger.entries[-1])


def _numbers(works: Works) -> set[int]:
    with works.database.read() as session:
        return {int((metadata or {})["n"]) for metadata in session.scalars(select(OrderRow.metadata_))}


def _probe(works: Works, ledger: Ledger, began: float) -> float | None:
    """Send one order and follow it to its end; seconds since `began`."""
    entry = Entry(PROBE, f"order-{PROBE}")
    ledger.entries.append(entry)
    with httpx.Client(base_url=works.url, headers=works.headers, timeout=30.0, trust_env=False) as client:
        ledger.send(client, entry)
        while entry.ids and time.monotonic() - began < PROBE_S:
            try:
                order = client.get(f"/v1/orders/{min(entry.ids)}").json()
            except (httpx.TransportError, ValueError):
                continue
            if order.get("status") == "completed":
                return round(time.monotonic() - began, 1)
            time.sleep(0.1)
    return None


@dataclass(frozen=True)
class Cable:
    """Between us and a network namespace; `far` is the address at its other end."""

    name: str
    far: str

    @property
    def within_as_root(self) -> tuple[str, ...]:
        """A command that runs another in the namespace."""
        return ("nsenter", f"--net=/run/netns/{self.name}")

    @property
    def within(self) -> tuple[str, ...]:
        """The same, as `nobody`: PostgreSQL refuses root."""
        return (*self.within_as_root, "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")

    def cut(self) -> None:
        _run("ip", "link", "set", f"{self.name}a", "down")

    def mend(self) -> None:
        _run("ip", "link", "set", f"{self.name}a", "up")


@contextmanager
def cable() -> Iterator[Cable]:
    """A namespace at the end of a veth pair; needs root and iproute2.

    Raises:
        RuntimeError: it can't be made here.
    """
    number = next(_NAMES)
    name, net = f"scf{time.time_ns() % 100_000}", f"10.213.{number}"
    _run("ip", "netns", "add", name)
    try:
        _run("ip", "link", "add", f"{name}a", "type", "veth", "peer", "name", f"{name}b", "netns", name)
        _run("ip", "addr", "add", f"{net}.1/24", "dev", f"{name}a")
        _run("ip", "link", "set", f"{name}a", "up")
        for command in (("addr", "add", f"{net}.2/24", "dev", f"{name}b"), ("link", "set", f"{name}b", "up")):
            _run("ip", "-n", name, *command)
        yield Cable(name, f"{net}.2")
    finally:
        _run("ip", "netns", "del", name)


def _run(*argv: str) -> None:
    done = subprocess.run(argv, capture_output=True, text=True, timeout=30)
    if done.returncode:
        raise RuntimeError(f"{' '.join(argv)}: {done.stderr.strip()}")
