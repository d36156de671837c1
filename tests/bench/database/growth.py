"""What storage does by itself with much data: p50 and p95 of each call, and the blocks that its reads touch.

    python -m tests.bench.database.growth FOLDER [--orders 10000000] [--waiting 200000] [--out FILE]

PostgreSQL keeps its data in FOLDER, which can be removed afterwards. It is filled first, by copies on the
server (`copies.py`), in a run or in several: one that was ended goes on where it was. What is closed is
folded, and last the oldest go (`forgetting.py`). `make bench-scale` asks the same of its own database.

Beside finished orders there are so many messages to a shop that is away (each order has one that is put off
and one behind it), a thousand that are due, and two thousand orders that wait for workers. Blocks are those
of 8 kB that EXPLAIN (ANALYZE, BUFFERS) counts for each SELECT of the call; they don't depend on what else the
machine does.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sqlalchemy import text

from infra.sql.database import Database
from schemas.lifecycle import Event, State
from schemas.shops.access import EVERY_SHOP
from schemas.transcript import Transcript
from services.evaluation.statistics import quantile
from services.storage.base.records import NewOrder, Outcome
from services.storage.counts.tallies import TallyStore
from services.storage.orders.load import LoadStore
from services.storage.orders.store import OrderStore
from services.storage.outbox.store import Outbox
from services.storage.reviews.store import ReviewStore
from tests.bench.database.copies import fill_by_copies
from tests.bench.database.forgetting import forget
from tests.plans import blocks
from tests.servers.postgresql import PostgreSQL

TIMES, DUE, WAITING = 100, 1000, 2000
DAYS = 90  # so that most are as retention of words leaves them, and there are weeks to drop
FOLD = 200_000  # rows a step, where nobody else waits for it
_SIZES = text(
    "SELECT coalesce(i.inhparent, c.oid)::regclass::text, "
    "round(sum(pg_total_relation_size(c.oid)) / 1e6)::int AS megabytes "
    "FROM pg_class AS c LEFT JOIN pg_inherits AS i ON i.inhrelid = c.oid "
    "WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace GROUP BY 1 ORDER BY 2 DESC LIMIT 6"
)
_MESSAGE = """
    INSERT INTO outbox (id, order_id, seq, type, payload, version, attempt, created_at, next_attempt_at)
    SELECT 'msg_away' || n || :kind, id, :seq, 'order.completed', '{}', 1, :attempt,
           now() - interval '2 hours' + n * interval '10 milliseconds', now() + CAST(:wait AS interval)
    FROM (SELECT id, row_number() OVER () AS n FROM
          (SELECT id FROM orders WHERE state = 'completed' LIMIT :count OFFSET :skip) AS one) AS two
"""
_LINED_UP = """
    UPDATE outbox SET due_at = CASE WHEN seq = 91 THEN NULL ELSE coalesce(next_attempt_at, created_at) END
    WHERE delivered_at IS NULL AND dead_at IS NULL
"""
_WAIT = """
    INSERT INTO orders (id, shop_id, state, version, menu_id, menu_version, language, transcript, findings,
        reasons, timings, engine, attempt, created_at, updated_at, confirm, client)
    SELECT 'ord_waits' || lpad(CAST(n AS text), 8, '0'), shop_id, 'transcribed', 2, menu_id, menu_version,
        language, transcript, '[]', '[]', '{}', '{}', 0, now() - interval '1 minute',
        now() - interval '1 minute', false, '10.0.0.' || n % 50
    FROM (SELECT * FROM orders LIMIT 1) AS one, generate_series(1, :count) AS n
"""


def add_waiting(database: Database, messages: int) -> list[str]:
    """Add what waits; ids of the orders that do."""
    pairs = messages // 2
    with database.write() as session:
        # Of a run before this one.
        for table, name in (("outbox", "msg_away"), ("order_codes", "ord_waits"), ("orders", "ord_waits")):
            column = "order_id" if table == "order_codes" else "id"
            session.execute(text(f"DELETE FROM {table} WHERE {column} LIKE '{name}%'"))
        for kind, seq, attempt, wait, count, skip in (
            ("a", 90, 3, "1 hour", pairs, 0),
            ("b", 91, 0, None, pairs, 0),
            ("c", 92, 0, None, DUE, pairs),
        ):
            told = {"kind": kind, "seq": seq, "attempt": attempt, "wait": wait, "count": count, "skip": skip}
            session.execute(text(_MESSAGE), told)
        if session.scalar(text("SELECT count(*) FROM pg_attribute WHERE attname = 'due_at'")):
            session.execute(text(_LINED_UP))
        session.execute(text(_WAIT), {"count": WAITING})
        return list(session.scalars(text("SELECT id FROM orders WHERE id LIKE 'ord_waits%'")))


def measure(database: Database, waiting: int) -> dict[str, Any]:
    """Each call's times and blocks."""
    left = iter(add_waiting(database, waiting))
    with database._engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("VACUUM ANALYZE")
    orders, outbox = OrderStore(database, "main"), Outbox(database)
    every = OrderStore(database, EVERY_SHOP)
    reviews, load, tallies = ReviewStore(database, "main"), LoadStore(database), TallyStore(database)
    first, cursor = orders.page(status=None, cursor=None, limit=50)
    key = first[-1].id

    def claim_messages() -> None:
        assert len(outbox.claim(owner="bench", limit=8, lease_s=600)) == 8

    def claim_order() -> None:
        assert every.claim(next(left), State.TRANSCRIBED, owner="bench", lease_s=600)

    calls: dict[str, Callable[[], object]] = {
        "order: get": lambda: orders.get(key),
        "order: claim": claim_order,
        "orders: first page": lambda: orders.page(status=None, cursor=None, limit=50),
        "orders: page by cursor": lambda: orders.page(status=None, cursor=cursor, limit=50),
        "orders: completed": lambda: orders.page(status="completed", cursor=cursor, limit=50),
        "orders: processing": lambda: orders.page(status="processing", cursor=None, limit=50),
        "sweep: due": lambda: every.due(limit=1, idle_s=10),
        "backlog": load.load,
        "metrics: states": every.counts,
        "metrics: events": every.event_counts,
        "metrics: codes": every.code_counts,
        "metrics: messages": outbox.counts,
        "reviews: list": lambda: reviews.list(limit=50, cursor=None, include_claimed=False),
        "statistics: a week": lambda: tallies.decided("main", 168),
        "outbox: list": lambda: outbox.list(dead=False, limit=50),
        "outbox: claim of 8": claim_messages,
    }
    found = {}
    for name, call in calls.items():
        found[name] = timed(call) | {"blocks": blocks(database, call)}
        print(f"{name:24}", json.dumps(found[name]), flush=True)
    return found


def timed(call: Callable[[], object]) -> dict[str, Any]:
    """p50 and p95 in ms, of fewer calls where one is slow."""
    call()
    taken: list[float] = []
    until = time.monotonic() + 10
    while len(taken) < TIMES and (len(taken) < 5 or time.monotonic() < until):
        began = time.perf_counter()
        call()
        taken.append((time.perf_counter() - began) * 1000)
    return {"p50_ms": round(quantile(taken, 0.5), 1), "p95_ms": round(quantile(taken, 0.95), 1)}


def life(database: Database, orders: int = 300) -> dict[str, float]:
    """What an order that is heard costs the server, at one claim and one heartbeat a stage: changes of its
    row, how many of them changed no index, and bytes of log (WAL)."""
    words = Transcript(text="two small lattes with oat milk, please", confidence=1.0)
    asked = text(
        "SELECT n_tup_upd, n_tup_hot_upd, pg_current_wal_insert_lsn() - '0/0' "
        "FROM pg_stat_user_tables WHERE relname = 'orders'"
    )

    def seen() -> list[float]:
        database.close()  # a server process tells its counts when it ends
        time.sleep(1)
        with database.read() as session:
            return [float(one) for one in session.execute(asked).one()]

    before = seen()
    store = OrderStore(database, "main")
    path = (
        (State.RECEIVED, Event.TRANSCRIBED),
        (State.TRANSCRIBED, Event.READ),
        (State.READ, Event.DECODED),
        (State.DECODED, Event.ACCEPTED),
    )
    for _ in range(orders):
        placed, _ = store.create(NewOrder("cafe", 1, "en", audio_key="none", audio_format="wav"))
        for state, done in path:
            held = store.claim(placed.id, state, owner="bench", lease_s=60)
            assert held is not None
            assert store.renew(held, 60)
            store.commit(held, Outcome(done, transcript=words if done is Event.TRANSCRIBED else None))
    updates, hot, log = (round((after - was) / orders, 1) for was, after in zip(before, seen(), strict=True))
    return {"updates": updates, "of_them_hot": hot, "wal_bytes": log}


def prepare(database: Database, orders: int) -> dict[str, Any]:
    """Fill and fold; how long it took in this run, and how large the tables are."""
    database.migrate()
    began = time.monotonic()
    fill_by_copies(database, orders, DAYS)
    filled = time.monotonic()
    print("folding", flush=True)
    while TallyStore(database).fold(FOLD):
        pass
    folded = time.monotonic()
    with database.read() as session:
        size = session.scalar(text("SELECT pg_database_size(current_database())"))
        tables = dict(session.execute(_SIZES).all())
    told = {"fill_s": round(filled - began), "fold_s": round(folded - filled)}
    return {"orders": orders, **told, "gigabytes": round((size or 0) / 1e9, 1), "tables": tables}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--orders", type=int, default=10_000_000)
    parser.add_argument("--waiting", type=int, default=200_000)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    server = PostgreSQL(home=args.folder.resolve())
    try:
        # Its own name: of a database that was begun with another number nothing is measured.
        name = f"growth_{args.orders}"
        url = server.url(name) if server.has(name) else server.create(name)
        database = Database(url).everywhere()
        found = prepare(database, args.orders)
        print(json.dumps(found), flush=True)
        found |= {"storage": measure(database, args.waiting), "life": life(database)}
        found["forgetting"] = forget(database)
        found |= {
            "server": server.version(),
            "cpus": os.cpu_count(),
            "load_5min": round(os.getloadavg()[1], 1),
        }
        database.close()
    finally:
        server.stop()
    print(json.dumps(found, indent=1))
    if args.out:
        args.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
