"""How long orders wait while tables of many rows are migrated, beside what they take alone.

    python -m tests.bench.database.upgrading FOLDER [--orders 10000000]

FOLDER holds a database that `growth` filled with so many orders. One thread accepts an order every 50 ms,
another reads the first page of the list, while the tables are brought from where they are to ours and then to
those of a release made up, which adds a column, a checked constraint and an index to `orders`. That release's
column and index are taken away again at the end. Milliseconds at the client.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import text

from infra.sql.database import Database
from schemas.transcript import Transcript
from services.evaluation.statistics import quantile
from services.storage.base.records import NewOrder
from services.storage.orders.store import OrderStore
from tests.processes.later_release import LATER, later_release
from tests.servers.postgresql import PostgreSQL

EVERY_S, ALONE_S = 0.05, 20.0
ADDED = """
steps.add_column("orders", sa.Column("tip", sa.BigInteger))
steps.add_check("tip_is_some", "orders", "tip >= 0")
steps.add_index("ix_orders_tip", "orders", ["tip"])
"""
TAKEN = (
    "ALTER TABLE orders DROP COLUMN IF EXISTS tip",
    f"DELETE FROM schema_versions WHERE revision = '{LATER}'",
    "UPDATE alembic_version SET version_num = :ours",
)
NEW = NewOrder("cafe", 1, "en", transcript=Transcript(text="two small lattes, please", confidence=1.0))


@contextmanager
def meanwhile(database: Database) -> Iterator[Callable[[], dict[str, Any]]]:
    """Accept and read until the block ends; the function tells what that took since it was last asked."""
    store, over = OrderStore(database, "main"), threading.Event()
    taken: dict[str, list[float]] = {"accept": [], "first page": []}

    def go_on(name: str, call: Callable[[], object]) -> None:
        while not over.wait(EVERY_S):
            began = time.perf_counter()
            call()
            taken[name].append((time.perf_counter() - began) * 1000)

    def told() -> dict[str, Any]:
        found = {}
        for name in taken:
            seen, taken[name] = taken[name], []
            figures = {"p50_ms": quantile(seen, 0.5), "p95_ms": quantile(seen, 0.95), "longest_ms": max(seen)}
            found[name] = {"calls": len(seen)} | {key: round(ms, 1) for key, ms in figures.items()}
        return found

    calls = {
        "accept": lambda: store.create(NEW),
        "first page": lambda: store.page(status=None, cursor=None, limit=50),
    }
    threads = [threading.Thread(target=go_on, args=one) for one in calls.items()]
    for thread in threads:
        thread.start()
    try:
        yield told
    finally:
        over.set()
        for thread in threads:
            thread.join()


def measure(url: str) -> dict[str, Any]:
    """What both take alone, while the tables become ours, and while they become a later release's."""
    works, migrates = Database(url), Database(url)
    found: dict[str, Any] = {"from": migrates.standing().at}
    with meanwhile(works) as told, tempfile.TemporaryDirectory() as folder:
        time.sleep(ALONE_S)
        found["alone"] = told()
        for name, into in (("to ours", None), ("a column, a constraint and an index", Path(folder))):
            began = time.monotonic()
            if into is None:
                to = migrates.migrate()[1]
            else:
                with later_release(into, ADDED):
                    migrates.migrate()
            found[name] = {"migration_s": round(time.monotonic() - began, 1)} | told()
    with migrates.write() as session:
        for step in TAKEN:
            session.execute(text(step), {"ours": to} if ":ours" in step else {})
    works.close()
    migrates.close()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--orders", type=int, default=10_000_000)
    args = parser.parse_args()
    server = PostgreSQL(home=args.folder.resolve())
    try:
        found = measure(server.url(f"growth_{args.orders}"))
        about = {"server": server.version(), "load_5min": round(os.getloadavg()[1], 1)}
        print(json.dumps(about | found, indent=1))
    finally:
        server.stop()


if __name__ == "__main__":
    main()
