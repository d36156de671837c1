"""Scenarios in which a store is unavailable: killed, disconnected, locked, or out of space."""

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
from tests.faults.running_stack import RunningStack
from tests.servers.postgresql import PostgreSQL

PROBE = 1_000_000  # number of the order that proves recovery
PROBE_S = 300.0
LOCK_S = 40.0
_NAMES = count(1)


def database_killed(bench: Bench) -> dict[str, Any]:
    """PostgreSQL killed with -9 and restarted after 10 s."""
    assert bench.server is not None
    with bench.stack() as stack:
        return outage(bench, stack, bench.server.kill, bench.server.start, hold_s=10.0)


def database_cut(bench: Bench) -> dict[str, Any]:
    """PostgreSQL in a network namespace with its link down: connections hang, none is refused."""
    with cable() as wire:
        server = PostgreSQL(listen=wire.far, within=wire.within)
        try:
            with bench.stack(database_url=server.create("cut")) as stack:
                return outage(bench, stack, wire.cut, wire.reconnect, hold_s=30.0)
        finally:
            wire.reconnect()
            server.stop()


def redis_cut(bench: Bench) -> dict[str, Any]:
    """Redis in a network namespace with its link down."""
    with cable() as wire:
        folder = bench.folder / "far-redis"
        folder.mkdir()
        server = {"--bind": wire.far, "--port": "6379", "--protected-mode": "no", "--dir": str(folder)}
        persistence = {"--appendonly": "yes", "--save": "", "--maxmemory-policy": "noeviction"}
        options = [word for pair in {**server, **persistence}.items() for word in pair]
        argv = (*wire.within_as_root, str(binary()), *options)
        with bench.stack(redis_argv=argv, redis_url=f"redis://{wire.far}:6379/0") as stack:
            return outage(bench, stack, wire.cut, wire.reconnect, hold_s=30.0)


def locked(bench: Bench) -> dict[str, Any]:
    """Another program holds an exclusive lock on SQLite for 40 s."""
    with bench.stack() as stack:
        holder = sqlite3.connect(str(stack.database.url.database), timeout=10, check_same_thread=False)
        holder.isolation_level = None

        def lock() -> None:
            holder.execute("BEGIN EXCLUSIVE")

        def free() -> None:
            holder.execute("ROLLBACK")
            holder.close()

        return outage(bench, stack, lock, free, hold_s=bench.size(int(LOCK_S), 15))


def outage(
    bench: Bench, stack: RunningStack, cut: Callable[[], None], restore: Callable[[], None], *, hold_s: float
) -> dict[str, Any]:
    """Cut, hold and restore under a light load; measure the time until a new order completes, and judge."""
    ledger = Ledger(stack.url, stack.headers, threads=3, pace_s=1.0)
    ledger.start()
    time.sleep(4.0)
    before = Counter(ledger.answers)
    cut()
    time.sleep(hold_s)
    during = ledger.answers - before
    restore()
    began = time.monotonic()
    recovery_s = _probe(stack, ledger, began)
    ledger.finish()
    return {
        "away s": hold_s,
        "answers while away": dict(during),
        "a new order completed after s": recovery_s,
        **bench.verdict(stack, ledger, began),
    }


def disk_full(bench: Bench) -> dict[str, Any]:
    """The home's small tmpfs fills up: recordings, and with SQLite also the database."""
    home = bench.folder / "small"
    home.mkdir()
    _run("mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(home))
    try:
        with bench.stack(home=home) as stack:
            return _filled(bench, stack, home)
    finally:
        _run("umount", "-l", str(home))


def _filled(bench: Bench, stack: RunningStack, home: Path) -> dict[str, Any]:
    recording = b"RIFF\x00\x00\x00\x00WAVE" + bytes(200_000)

    def body(number: int, metadata: dict[str, Any]) -> dict[str, Any]:
        return spoken(number, metadata, recording) if number % 2 else typed(number, metadata)

    ledger = Ledger(stack.url, stack.headers, body=body)
    numbers = count(1)
    with httpx.Client(base_url=stack.url, headers=stack.headers, timeout=30.0, trust_env=False) as client:
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
        stored = _numbers(stack)
        filler.unlink()
        began = time.monotonic()
        for entry in ledger.entries:
            if not entry.ids:
                ledger.send(client, entry)
        recovery_s = _probe(stack, ledger, began)
    figures = bench.verdict(stack, ledger, began)
    files = (path for path in stack.settings.blobs.rglob("*") if path.is_file())
    phantoms = len(stored - accepted)
    return {
        "answers while full": full,
        "phantom orders": phantoms,
        "recordings": sum(path.stat().st_size > 1000 for path in files),
        "spoken orders": sum(entry.number % 2 for entry in ledger.entries),
        "a new order completed after s": recovery_s,
        **figures,
        "doubled": figures["doubled"] + phantoms,
    }


def _send_once(ledger: Ledger, client: httpx.Client, numbers: Iterator[int], many: int) -> None:
    for _ in range(many):
        number = next(numbers)
        ledger.entries.append(Entry(number, f"order-{number}"))
        ledger.post(client, ledger.entries[-1])


def _numbers(stack: RunningStack) -> set[int]:
    with stack.database.read() as session:
        return {int((metadata or {})["n"]) for metadata in session.scalars(select(OrderRow.metadata_))}


def _probe(stack: RunningStack, ledger: Ledger, began: float) -> float | None:
    """Send an order and wait until it is completed; return the seconds since `began`."""
    entry = Entry(PROBE, f"order-{PROBE}")
    ledger.entries.append(entry)
    with httpx.Client(base_url=stack.url, headers=stack.headers, timeout=30.0, trust_env=False) as client:
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
    """A link to a network namespace; `far` is the address at its other end."""

    name: str
    far: str

    @property
    def within_as_root(self) -> tuple[str, ...]:
        """Command prefix that runs a program in the namespace."""
        return ("nsenter", f"--net=/run/netns/{self.name}")

    @property
    def within(self) -> tuple[str, ...]:
        """The same, as `nobody`: PostgreSQL refuses root."""
        return (*self.within_as_root, "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")

    def cut(self) -> None:
        _run("ip", "link", "set", f"{self.name}a", "down")

    def reconnect(self) -> None:
        _run("ip", "link", "set", f"{self.name}a", "up")


@contextmanager
def cable() -> Iterator[Cable]:
    """Create a namespace at the end of a veth pair. Needs root and iproute2; raises RuntimeError without."""
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
