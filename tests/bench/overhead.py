"""Measure the overhead of a text order without the engines: SQL messages, Redis commands and time.

    make bench-overhead [ARGS="--orders 200"]

Runs one order at a time on the stack of `tests/load`, on SQLite and PostgreSQL, with a decoder that answers
at once. `tests/counted_messages.py` counts SQL messages; Redis counts commands, less those of an idle stack.
Time is from the request to the order's completion in the database.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import redis

from schemas.lifecycle import STATUS, State
from services.learning.evaluation.figures import quantile
from services.storage.orders.store import OrderStore
from tests.load.orders import written
from tests.load.stack import PYTHON, running
from tests.servers.postgresql import PostgreSQL

OUT = Path(__file__).resolve().parents[2] / "docs" / "benchmarks" / "overhead.json"
WARM, PAUSE_S = 10, 0.1
ORDER = written()[0]


def measured(database_url: str, orders: int, home: Path) -> dict[str, Any]:
    env = {"LOAD_READ_S": "0", "COUNTED_SQL": str(home / "sql")}
    by = (*PYTHON, "tests.counted_messages")
    with (
        running(home, database_url, shops=1, env=env, threads=1, by=by) as stack,
        httpx.Client(
            base_url=stack.url, headers={"Authorization": f"Bearer {stack.keys[0]}"}, trust_env=False
        ) as client,
        redis.Redis.from_url(stack.redis) as bell,
    ):
        store = OrderStore(stack.database, "shop-0")
        _settled(client, store, WARM)
        idle = _commands(bell, lambda: time.sleep(orders * (PAUSE_S + 0.05)))
        before = _messages(home)
        times: list[float] = []
        used = _commands(bell, lambda: times.extend(_settled(client, store, orders)))
        messages = _messages(home) - before
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
    """Run orders one by one, without polling the API; return the seconds of each."""
    times = []
    for _ in range(orders):
        time.sleep(PAUSE_S)
        began = datetime.now(UTC)
        answer = client.post("/v1/orders", json=ORDER)
        order_id = answer.raise_for_status().json()["id"]
        until = time.monotonic() + 30
        while (order := store.get(order_id)).state is not State.COMPLETED:
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
    stats = client.info("commandstats")
    return Counter({name: int(of["calls"]) for name, of in stats.items() if "info" not in name})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--orders", type=int, default=100)
    parser.add_argument("--out", type=Path, default=OUT)
    args = parser.parse_args()
    results = json.loads(args.out.read_text()) if args.out.exists() else {}
    results |= {"date": datetime.now(UTC).date().isoformat(), "cores": os.cpu_count(), "after": {}}
    with PostgreSQL() as postgresql:
        for name in ("sqlite", "postgresql"):
            with tempfile.TemporaryDirectory(prefix="saycart-") as folder:
                home = Path(folder)
                sqlite = f"sqlite:///{home / 'saycart.db'}"
                url = sqlite if name == "sqlite" else postgresql.create("overhead")
                result = measured(url, args.orders, home)
            results["after"].setdefault("read twice", {})[name] = result
            print(name, json.dumps(result))
    args.out.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
