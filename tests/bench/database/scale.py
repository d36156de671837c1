"""How pages and metrics grow with the data: p50 and p95 with many menus and a million finished orders.

    python -m tests.bench.database.scale [--orders 1000000] [--menus 500]
                                          [--databases sqlite postgresql] [--out FILE]

Fills an empty database in bulk (`many_orders.py`), starts the real API (`python -m services.api`: uvicorn in
a process of its own), and asks one page after the other over loopback, one request at a time: first with
nothing folded, as after an upgrade, then with all closed history in the tallies. PostgreSQL has been vacuumed
and analyzed, as its autovacuum does in time; SQLite is as the product leaves it. PostgreSQL copies a seed by
itself (`copies.py`); there the calls of storage follow, with much that waits (`growth.py`).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx

from infra.processes.ports import any_free
from infra.sql.database import Database
from schemas.shops.access import Role
from services.evaluation.statistics import quantile
from services.storage.counts.tallies import TallyStore
from services.storage.people.staff import StaffStore
from services.storage.shops.menus import MenuStore
from tests.bench.database import growth
from tests.bench.database.copies import fill_by_copies
from tests.bench.database.many_orders import fill
from tests.credentials import UNLIMITED_ENV, header_at
from tests.servers.postgresql import PostgreSQL
from tests.stand_ins import CAFE, TESTER, sample_menu

PAGES = ("/", "/v1/menus", "/menu", "/metrics/database", "/review/stats")
LONG = "/review/stats?days=30"  # only folded: 150,000 decisions of a million orders would be read each time
REQUESTS, SECONDS = 50, 8.0  # of one page at most; a slow one is asked less often, but three times
READY_S = 30.0
WAITING = 200_000  # messages to a shop that is away
SAMPLES = ("harbor-coffee", "copper-skillet")
OUT = Path("docs/benchmarks/scale.json")
PASSWORD = "only for this bench"


def measure(url: str, orders: int, menus: int, analyze: Callable[[], None]) -> dict[str, Any]:
    """Fill a database and time the pages, before folding and after."""
    database = Database(url).everywhere()
    database.migrate()
    found: dict[str, Any] = {"orders": orders, "menus": menus}
    _menus(MenuStore(database, "main"), menus)
    StaffStore(database).add("Ann", PASSWORD, role=Role.ADMIN)
    filled = fill if database.is_sqlite else fill_by_copies
    found["fill_s"], found["rows"] = timed(lambda: filled(database, orders))
    analyze()
    with serving(url) as http:
        found["before_folding"] = {page: ask(http, page) for page in PAGES}
        shown = metrics(http)
        print("filled in", found["fill_s"], "s", flush=True)
        found["folding"] = fold(TallyStore(database))
        analyze()
        found["after_folding"] = {page: ask(http, page) for page in (*PAGES, LONG)}
        assert metrics(http) == shown, "the tallies say something else than the full count"
    if not database.is_sqlite:
        found["life"], found["storage"] = (
            growth.life(database),
            growth.measure(database, min(WAITING, orders)),
        )
    database.close()
    return found


def ask(http: httpx.Client, page: str) -> dict[str, Any]:
    """Times of one page in milliseconds. The first request is told apart: it fills caches."""
    first_s, answer = timed(lambda: http.get(page))
    answer.raise_for_status()
    taken: list[float] = []
    until = time.perf_counter() + SECONDS
    while len(taken) < REQUESTS and (len(taken) < 3 or time.perf_counter() < until):
        seconds, answer = timed(lambda: http.get(page))
        answer.raise_for_status()
        taken.append(seconds * 1000)
    found = {"p50_ms": round(quantile(taken, 0.5), 1), "p95_ms": round(quantile(taken, 0.95), 1)}
    found |= {"first_ms": round(first_s * 1000, 1), "requests": len(taken), "bytes": len(answer.content)}
    print(f"{page:24}", json.dumps(found), flush=True)
    return found


def fold(tallies: TallyStore) -> dict[str, Any]:
    """Fold all that is closed, as the sweeper does; how long it took in all, and one step at the longest."""
    steps: list[float] = []
    rows = 1
    folded = 0
    while rows:
        seconds, rows = timed(tallies.fold)
        steps.append(seconds * 1000)
        folded += rows
    found = {"rows": folded, "seconds": round(sum(steps) / 1000, 1), "steps": len(steps)}
    found |= {"step_p50_ms": round(quantile(steps, 0.5), 1), "step_max_ms": round(max(steps), 1)}
    print("folding", json.dumps(found), flush=True)
    return found


def metrics(http: httpx.Client) -> list[str]:
    """What is counted of orders and messages, as lines."""
    names = ("saycart_orders{", "saycart_order_events_total", "saycart_order_codes_total", "saycart_webhooks")
    return [line for line in http.get("/metrics/database").text.splitlines() if line.startswith(names)]


@contextmanager
def serving(url: str) -> Iterator[httpx.Client]:
    """The real API on this database, and a client that is signed in as staff."""
    with tempfile.TemporaryDirectory(prefix="saycart-scale-") as home:
        port = any_free()
        told = UNLIMITED_ENV | {"SAYCART_HOME": home, "DATABASE_URL": url, "SAYCART_API_PORT": str(port)}
        with (Path(home) / "log").open("wb") as log:
            command = [sys.executable, "-m", "services.api"]
            api = subprocess.Popen(command, env=os.environ | told, stdout=log, stderr=log)
        try:
            with httpx.Client(
                base_url=f"http://127.0.0.1:{port}", headers=header_at(url), timeout=300
            ) as http:
                _until_ready(api, http)
                told = {"name": "Ann", "password": PASSWORD, "next": "/review"}
                answer = http.post("/sign-in", data=told, headers={"Origin": str(http.base_url).rstrip("/")})
                assert answer.status_code == 303, answer.text
                yield http
        finally:
            api.terminate()
            api.wait(60)


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds that it took, and what it gave."""
    began = time.perf_counter()
    given = call()
    return round(time.perf_counter() - began, 4), given


def _menus(store: MenuStore, count: int) -> None:
    """The samples again and again, under ids and names of their own; each has been edited once."""
    store.put(CAFE, by=TESTER)
    samples = [sample_menu(name) for name in SAMPLES]
    for edited in ("", ", edited"):
        for number in range(count - 1):
            menu = samples[number % len(samples)]
            names = {"id": f"{menu.id}-{number:03d}", "name": f"{menu.name} {number}{edited}"}
            store.put(menu.model_copy(update=names), by=TESTER)


def _until_ready(api: subprocess.Popen[bytes], http: httpx.Client) -> None:
    until = time.monotonic() + READY_S
    while time.monotonic() < until:
        if api.poll() is not None:
            break
        try:
            http.get("/livez").raise_for_status()
            return
        except httpx.HTTPError:
            time.sleep(0.1)
    raise RuntimeError(f"the API did not start (exit status {api.poll()})")


def on_sqlite(orders: int, menus: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="saycart-scale-") as folder:
        return measure(f"sqlite:///{folder}/scale.db", orders, menus, lambda: None)


def on_postgresql(orders: int, menus: int) -> dict[str, Any]:
    server = PostgreSQL()
    try:
        url = server.create("scale")

        def analyze() -> None:
            import psycopg

            with psycopg.connect(f"host={server.home} user=postgres dbname=scale", autocommit=True) as admin:
                admin.execute("VACUUM ANALYZE")

        return measure(url, orders, menus, analyze) | {"server": server.version()}
    finally:
        server.stop()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--orders", type=int, default=1_000_000)
    parser.add_argument("--menus", type=int, default=500)
    parser.add_argument(
        "--databases", nargs="+", choices=("sqlite", "postgresql"), default=["sqlite", "postgresql"]
    )
    parser.add_argument("--out", type=Path, default=OUT)
    args = parser.parse_args()
    results: dict[str, Any] = json.loads(args.out.read_text()) if args.out.exists() else {}
    for name in args.databases:
        print(name, flush=True)
        found = (on_sqlite if name == "sqlite" else on_postgresql)(args.orders, args.menus)
        machine = {"cpus": os.cpu_count(), "python": platform.python_version()}
        load = round(os.getloadavg()[1], 1)
        results[name] = found | machine | {"load_5min": load, "when": f"{datetime.now(UTC):%Y-%m-%d %H:%M}"}
        args.out.parent.mkdir(parents=True, exist_ok=True)
        args.out.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
