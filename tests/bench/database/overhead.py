"""What an order of text costs beside the engines: SQL messages, Redis commands and time, one order at a time.

    make bench-overhead [ARGS="--orders 200"]

The real API, Redis and workers as child processes, on SQLite and on PostgreSQL; the trained reader answers at
once (`instant_reader.py`). Messages are counted where SQLAlchemy sends them
(`tests/counted_messages.py`), commands by Redis itself less those of an idle stack of the same length. The
time is from the request to the moment at which the database says the order was settled; one clock, since it
is one machine.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import sys
import tempfile
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import redis

from infra.processes.ports import any_free
from infra.processes.supervisor import Child, Supervisor
from infra.redis.server import EmbeddedRedis
from infra.settings import Settings
from infra.sql.database import Database
from schemas.lifecycle import SETTLED, STATUS
from services.learning.evaluation.figures import quantile
from services.storage.orders.store import OrderStore
from services.storage.shops.menus import MenuStore
from services.workers.children import as_environment
from services.workers.worker import WORKERS, celery_argv
from tests.credentials import UNLIMITED, header_for
from tests.processes.parts import part
from tests.servers.postgresql import PostgreSQL
from tests.stand_ins import CAFE, SAID, TESTER

OUT = Path(__file__).resolve().parents[3] / "docs" / "benchmarks" / "overhead.json"
WARM, PAUSE_S = 10, 0.1


def children(config: Settings, home: Path, listener: socket.socket) -> list[Child]:
    """The API and every worker but the recogniser's, each counting its messages."""
    env = as_environment(config) | {"COUNTED_SQL": str(home / "sql")}

    workers = [
        part(name, (*counted, *argv[2:]), home, env)
        for name, queues in WORKERS.items()
        if name != "transcribe"
        for counted, argv in [(_counted(), _instant(celery_argv(name, queues, 1, "WARNING")))]
    ]
    number = listener.fileno()
    api = part("api", (*_counted(), "services.api"), home, env, (number,), SAYCART_API_FD=str(number))
    return [*workers, api]


def _counted() -> tuple[str, ...]:
    return (sys.executable, "-m", "tests.counted_messages")


def _instant(argv: tuple[str, ...]) -> tuple[str, ...]:
    app = "tests.bench.database.instant_reader"
    return tuple(app if word == "services.workers.app" else word for word in argv)


def measured(database_url: str, orders: int, home: Path) -> dict[str, Any]:
    server = EmbeddedRedis(home / "redis", any_free(), home / "redis.log")
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    config = Settings(
        home=home,
        database_url=database_url,
        redis_url=server.url,
        llm_url="http://127.0.0.1:9",  # never asked: the reader is a stand-in
        log_level="WARNING",
        **UNLIMITED,
    )
    database = Database(config.database).everywhere()
    database.migrate()
    MenuStore(database, "main").put(CAFE, by=TESTER)
    store, supervisor = OrderStore(database, "main"), Supervisor(home / "stack")
    try:
        supervisor.start([server.child("redis"), *children(config, home, listener)])
        with (
            httpx.Client(base_url=url, headers=header_for(database), trust_env=False) as client,
            redis.Redis.from_url(server.operator_url) as bell,
        ):
            _settled(client, store, WARM)
            idle = _commands(bell, lambda: time.sleep(orders * (PAUSE_S + 0.05)))
            before = _messages(home)
            times: list[float] = []
            used = _commands(bell, lambda: times.extend(_settled(client, store, orders)))
            messages = _messages(home) - before
    finally:
        supervisor.stop()
        database.close()
        listener.close()
    return {
        "orders": orders,
        "sql_messages": round(messages.total() / orders, 1),
        "by_word": {word: round(count / orders, 1) for word, count in sorted(messages.items())},
        "transactions": round(messages["COMMIT"] / orders, 1),
        "redis_commands": round((used - idle).total() / orders, 1),
        "ms_p50": round(1000 * quantile(times, 0.5), 1),
        "ms_p95": round(1000 * quantile(times, 0.95), 1),
    }


def _settled(client: httpx.Client, store: OrderStore, orders: int) -> list[float]:
    """Seconds that each of so many orders took, one after the other; nobody polls the API meanwhile."""
    times = []
    for _ in range(orders):
        time.sleep(PAUSE_S)
        began = datetime.now(UTC)
        answer = client.post("/v1/orders", json={"transcript": SAID, "menu": CAFE.id})
        order_id = answer.raise_for_status().json()["id"]
        until = time.monotonic() + 30
        while (order := store.get(order_id)).state not in SETTLED:
            if time.monotonic() > until:
                raise TimeoutError(f"{order_id} is still {STATUS[order.state]}")
            time.sleep(0.01)
        times.append((order.updated_at - began).total_seconds())
    return times


def _messages(home: Path) -> Counter[str]:
    return Counter((home / "sql").read_text().split())


def _commands(client: redis.Redis, act: Any) -> Counter[str]:
    client.config_resetstat()
    act()
    found = client.info("commandstats")
    return Counter({name: int(seen["calls"]) for name, seen in found.items() if "info" not in name})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--orders", type=int, default=100)
    parser.add_argument("--out", type=Path, default=OUT)
    asked = parser.parse_args()
    found = json.loads(asked.out.read_text()) if asked.out.exists() else {}
    found |= {"date": datetime.now(UTC).date().isoformat(), "cores": os.cpu_count(), "after": {}}
    postgresql = PostgreSQL()
    try:
        for name in ("sqlite", "postgresql"):
            with tempfile.TemporaryDirectory(prefix="saycart-") as folder:
                home = Path(folder)
                ours = f"sqlite:///{home / 'saycart.db'}"
                url = ours if name == "sqlite" else postgresql.create("overhead")
                of_it = measured(url, asked.orders, home)
            found["after"].setdefault("read twice", {})[name] = of_it
            print(name, json.dumps(of_it))
    finally:
        postgresql.stop()
    asked.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
