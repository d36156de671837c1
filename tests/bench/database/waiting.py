"""What waiting costs: a real API process, a thousand clients that wait, each for its own order.

    python -m tests.bench.database.waiting [--clients 1000] [--streams 300 1000] [--out FILE]
                                            [--code CHECKOUT]

On SQLite and on PostgreSQL, counted while nothing happens: transactions a second, in the process and (on
PostgreSQL) by the database; CPU time of the process by /proc. Once within one wait, so that nobody asks anew,
and once over two, in which each asks again. Then orders end at random times and new ones are posted: the time
from the return of the commit, which another process makes, to the client that has the whole answer; and the
time of a POST. `--code` measures the API of another checkout. What OUT has already is not asked again.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from infra.processes.ports import any_free
from infra.settings import Settings
from schemas.lifecycle import Event
from schemas.menu import Menu
from schemas.transcript import Transcript
from services.bootstrap import Container, bootstrap
from services.evaluation.statistics import quantile
from services.storage.base.records import NewOrder, Outcome
from services.storage.orders.store import OrderStore
from tests.bench.database.waiting_clients import Connection, follow, poll
from tests.bench.results import Results
from tests.credentials import UNLIMITED_ENV, header_for
from tests.servers.postgresql import PostgreSQL
from tests.stand_ins import TESTER

HERE = Path(__file__).resolve()
ROOT = HERE.parents[3]
MENU = {
    "id": "bench",
    "name": "Bench",
    "currency": "USD",
    "items": [{"sku": "bagel", "name": "bagel", "price": 399}],
}
# PostgreSQL's connections tell of their last transactions only once they were idle for 10 s.
SETTLE_S, IDLE_S, AGAIN_S = 11.0, 17.0, 40.0
WAIT_S, SHORT_WAIT_S = 30.0, 20.0
CHANGES, POSTS = 200, 100
PER_SECOND = 10.0
SEED = 20_261_122
STARTED_S = 60.0


@dataclass
class Api:
    """A running API process and what is behind it."""

    box: Container
    port: int
    key: str
    pid: int
    count: Path
    server: PostgreSQL | None
    database: str
    told: dict[str, float] = field(default_factory=dict)

    def transactions(self) -> tuple[int, int | None]:
        """Begun by the process so far, and ended in the database by anyone, where that counts them."""
        own: int = struct.unpack("<Q", self.count.read_bytes()[:8])[0]
        if self.server is None:
            return own, None
        counted = "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = %s"
        row = self.server._admin.execute(counted, [self.database]).fetchone()
        return own, int(row[0]) if row else None

    def cpu_s(self) -> float:
        """CPU seconds of the process so far, its threads included."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def files(self) -> int:
        return len(os.listdir(f"/proc/{self.pid}/fd"))


@contextmanager
def serving(kind: str, code: Path) -> Iterator[Api]:
    """The API of the checkout `code` on an empty database."""
    server = PostgreSQL() if kind == "postgresql" else None
    with tempfile.TemporaryDirectory() as home:
        port, count = any_free(), Path(home) / "count"
        count.write_bytes(bytes(8))
        url = server.create("bench") if server else f"sqlite:///{home}/saycart.db"
        environment = os.environ | UNLIMITED_ENV | {
            "PYTHONPATH": str(code), "SAYCART_HOME": home, "DATABASE_URL": url, "SAYCART_API_PORT": str(port),
            "SAYCART_CLIENT_BACKLOG": "0", "SAYCART_MAX_BACKLOG": "0", "REDIS_URL": "redis://127.0.0.1:1/0",
            "SAYCART_LOG_LEVEL": "ERROR", "SAYCART_BENCH_COUNT": str(count),
            "SAYCART_ADDRESS_CONNECTIONS": "0", "SAYCART_ADDRESS_WAITS": "0",
        }  # fmt: skip
        process = subprocess.Popen(
            [sys.executable, str(HERE.with_name("waiting_api.py"))], env=environment, cwd=home
        )
        box = bootstrap(Settings(home=Path(home), database_url=url))
        try:
            _until_up(port)
            box.menus.of("main").put(Menu.parse(MENU), by=TESTER)
            key = header_for(box.database)["Authorization"]
            yield Api(box, port, key, process.pid, count, server, "bench")
        finally:
            box.close()
            process.terminate()
            process.wait(40)
            if server:
                server.stop()


def _until_up(port: int) -> None:
    end = time.monotonic() + STARTED_S
    while True:
        try:
            httpx.get(f"http://127.0.0.1:{port}/livez", trust_env=False)
            return
        except httpx.TransportError:
            if time.monotonic() > end:
                raise RuntimeError("the API did not start") from None
            time.sleep(0.1)


def stored(api: Api, count: int) -> list[str]:
    """Orders that wait for decoding."""
    heard = Transcript(text="a bagel", confidence=1.0, language="en")
    new = NewOrder(menu_id=MENU["id"], menu_version=1, language="en", transcript=heard)
    return [OrderStore(api.box.database, "main").create(new)[0].id for _ in range(count)]


def figures(api: Api, before: tuple[float, float, tuple[int, int | None]]) -> dict[str, Any]:
    """Rates since `before`, as `marked` gave it."""
    at, cpu, (own, seen) = before
    _, _, (own_now, seen_now) = marked(api)
    seconds = time.monotonic() - at
    return {
        "seconds": round(seconds, 1),
        "transactions_per_s": round((own_now - own) / seconds, 2),
        "by_database_per_s": round(((seen_now or 0) - (seen or 0)) / seconds, 2),
        "cpu_percent": round((api.cpu_s() - cpu) / seconds * 100, 1),
    }


def marked(api: Api) -> tuple[float, float, tuple[int, int | None]]:
    return time.monotonic(), api.cpu_s(), api.transactions()


async def measured(api: Api, clients: int, streams: bool) -> dict[str, Any]:
    """All figures of so many clients of one kind."""
    api.told.clear()
    ids = stored(api, clients)
    found: dict[str, Any] = {"load": round(os.getloadavg()[0], 1)}
    waits = (WAIT_S,) if streams else (WAIT_S, SHORT_WAIT_S)
    for wait_s in waits:
        told = api.told.__setitem__
        waiting = [
            asyncio.create_task(
                follow(api.port, api.key, order, told)
                if streams
                else poll(api.port, api.key, order, _first(wait_s, number / clients), wait_s, told)
            )
            for number, order in enumerate(ids)
        ]
        await asyncio.sleep(SETTLE_S)
        before = marked(api)
        if wait_s == WAIT_S:
            await asyncio.sleep(IDLE_S)
            found["idle"] = figures(api, before) | {"open_files": api.files()}
        else:
            await asyncio.sleep(AGAIN_S)
            found["asking_again"] = figures(api, before)
        if wait_s != waits[-1]:
            await _ended(waiting)
    before = marked(api)
    commits, posts = await asyncio.gather(asyncio.to_thread(changes, api, ids), posted(api))
    await asyncio.sleep(3)
    await _ended(waiting)
    late = [api.told[order_id] - at for order_id, at in commits.items() if order_id in api.told]
    found["busy"] = {
        **figures(api, before),
        "changes": len(commits),
        "told": len(late),
        **_ms("told", late),
        "posts": len(posts),
        **_ms("post", posts),
    }
    return found


def _first(wait_s: float, share: float) -> float:
    """Seconds of a client's first poll: all alike where nobody shall ask anew, else spread over one wait."""
    return wait_s if wait_s == WAIT_S else 1 + (wait_s - 1) * share


async def _ended(waiting: list[asyncio.Task[None]]) -> None:
    for task in waiting:
        task.cancel()
    for outcome in await asyncio.gather(*waiting, return_exceptions=True):
        if isinstance(outcome, Exception):
            raise outcome


def _ms(name: str, seconds: list[float]) -> dict[str, float]:
    shares = {"p50": 0.5, "p95": 0.95, "max": 1.0}
    return {f"{name}_{share}_ms": round(quantile(seconds, at) * 1e3, 1) for share, at in shares.items()}


def changes(api: Api, ids: list[str]) -> dict[str, float]:
    """End orders at random times, as a worker would; when each commit had returned."""
    rng = random.Random(SEED)
    done: dict[str, float] = {}
    at = time.monotonic()
    for order_id in rng.sample(ids, min(CHANGES, len(ids) // 2)):
        at += rng.expovariate(PER_SECOND)
        time.sleep(max(0.0, at - time.monotonic()))
        api.box.orders.commit(api.box.orders.get(order_id), Outcome(Event.BROKE))
        done[order_id] = time.monotonic()
    return done


async def posted(api: Api) -> list[float]:
    """Seconds of each POST of an order, some five a second."""
    connection, rng, took = Connection(api.port, api.key), random.Random(SEED + 1), list[float]()
    body = json.dumps({"transcript": "a bagel", "menu": MENU["id"]}).encode()
    for _ in range(POSTS):
        await asyncio.sleep(rng.expovariate(PER_SECOND / 2))
        began = time.monotonic()
        status, answer = await connection.ask("POST", "/v1/orders", body)
        if status != 202:
            raise RuntimeError(f"POST: {status} {answer}")
        took.append(time.monotonic() - began)
    connection.close()
    return took


COLUMNS = (
    "waiting", "transactions/s, idle", "asking again", "CPU, idle", "asking again", "told p50 / p95 ms",
    "POST p50 / p95 ms", "load",
)  # fmt: skip


def table(found: dict[str, Any]) -> str:
    """Markdown of all that was measured."""
    lines = [f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
    for name, one in found.items():
        idle, again, busy = one["idle"], one.get("asking_again"), one["busy"]
        cells = [
            name,
            idle["transactions_per_s"],
            again["transactions_per_s"] if again else "–",
            f"{idle['cpu_percent']}%",
            f"{again['cpu_percent']}%" if again else "–",
            f"{busy['told_p50_ms']:.0f} / {busy['told_p95_ms']:.0f}",
            f"{busy['post_p50_ms']:.0f} / {busy['post_p95_ms']:.0f}",
            one["load"],
        ]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--clients", type=int, nargs="*", default=[1000], help="that poll")
    parser.add_argument("--streams", type=int, nargs="*", default=[300, 1000], help="that follow events")
    parser.add_argument("--databases", nargs="+", default=["sqlite", "postgresql"])
    parser.add_argument("--code", type=Path, default=ROOT, help="the checkout whose API is measured")
    parser.add_argument("--out", type=Path, default=Path("reports/waiting.json"))
    args = parser.parse_args()
    results = Results(args.out)
    asked = [(count, False) for count in args.clients] + [(count, True) for count in args.streams]
    for kind in args.databases:
        for count, streams in asked:
            name = f"{kind}, {count} {'streams' if streams else 'long polls'}"

            def ask(kind: str = kind, count: int = count, streams: bool = streams) -> dict[str, Any]:
                with serving(kind, args.code) as api:
                    return asyncio.run(measured(api, count, streams))

            results.ask(name, ask)
    print(table(results.found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
