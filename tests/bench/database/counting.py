"""What the indexes of ADR 71 do: orders counted by state, accepted and doubted, with them and as before.

    python -m tests.bench.database.counting FOLDER [--orders 10000000] [--rounds 7] [--writing 7]

FOLDER holds a database that `growth` filled with so many orders. In each round orders are counted with the
indexes of before, made in a transaction that is rolled back, and with those of now; which of the two
is first is left to chance. Then orders are accepted, claimed and put before a human, which writes to one of
them; for that the indexes are dropped and made again. Milliseconds at the client, over all rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import text

from infra.sql.database import Database
from schemas.lifecycle import Event, State
from schemas.transcript import Transcript
from services.evaluation.statistics import quantile
from services.storage.base.records import NewOrder, Outcome
from services.storage.base.tables import OTHER
from services.storage.counts import tallies
from services.storage.orders.store import OrderStore
from tests.servers.postgresql import PostgreSQL

NOW = ("ix_orders_may_go_on_shops", "ix_orders_other_shops")
BEFORE = (
    *(f"DROP INDEX {name}" for name in NOW),
    f"CREATE INDEX ix_orders_other ON orders (state) WHERE {OTHER}",
)
TIMES, ORDERS = 20, 200
_MADE = text(
    "SELECT indexdef, pg_relation_size(indexname::text::regclass) FROM pg_indexes WHERE indexname = :name"
)
Times = dict[str, list[float]]
Found = TypeVar("Found")


class _Undone(Exception):
    """Ends a transaction of which nothing shall stay."""


def counted(database: Database, steps: Sequence[str], taken: list[float]) -> None:
    """Count by state some times in one transaction, after these steps, which are undone."""
    try:
        with database.write() as session:
            for step in steps:
                session.execute(text(step))
            tallies.states(session)
            taken += [_ms(lambda: tallies.states(session))[0] for _ in range(TIMES)]
            raise _Undone
    except _Undone:
        pass


def lived(database: Database, taken: Times) -> None:
    """Accept, claim and doubt orders, which are then put before a human."""
    store, claims = OrderStore(database, "main"), OrderStore(database.everywhere(), "*")
    words = Transcript(text="two small lattes, please", confidence=1.0)
    new = NewOrder("cafe", 1, "en", transcript=words)
    for _ in range(ORDERS):
        ms, (order, _new) = _ms(lambda: store.create(new))
        taken["accept"].append(ms)
        ms, held = _ms(partial(claims.claim, order.id, State.TRANSCRIBED, owner="bench", lease_s=60))
        assert held is not None
        taken["claim"].append(ms)
        taken["doubt"].append(_ms(partial(claims.commit, held, Outcome(Event.DOUBTED)))[0])


def _ms(call: Callable[[], Found]) -> tuple[float, Found]:
    began = time.perf_counter()
    found = call()
    return (time.perf_counter() - began) * 1000, found


def measure(database: Database, rounds: int, writing: int) -> dict[str, Any]:
    """p50 and p95 of each call, in ms, and how large the indexes are."""
    every = database.everywhere()
    alone = every._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
    alone.exec_driver_sql("VACUUM ANALYZE orders")
    with every.read() as session:
        made = [session.execute(_MADE, {"name": name}).one() for name in NOW]
    found: dict[str, Times] = {"before": defaultdict(list), "now": defaultdict(list)}
    for _ in range(rounds):
        for which in random.sample(sorted(found), 2):
            counted(every, BEFORE if which == "before" else (), found[which]["metrics: states"])
    again = ["DROP INDEX ix_orders_other", *(definition for definition, _ in made)]
    for _ in range(writing):
        for which in random.sample(sorted(found), 2):
            for step in BEFORE if which == "before" else ():
                alone.exec_driver_sql(step)
            try:
                lived(database, found[which])
            finally:
                for step in again if which == "before" else ():
                    alone.exec_driver_sql(step)
    alone.close()
    told: dict[str, Any] = {
        which: {name: [round(quantile(ms, part), 2) for part in (0.5, 0.95)] for name, ms in taken.items()}
        for which, taken in found.items()
    }
    sizes = {name: size for name, (_, size) in zip(NOW, made, strict=True)}
    return told | {"index_bytes": sizes, "load_5min": round(os.getloadavg()[1], 1)}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--orders", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=7, help="of counting")
    parser.add_argument("--writing", type=int, default=7, help="rounds of accepting, claiming, doubting")
    args = parser.parse_args()
    server = PostgreSQL(home=args.folder.resolve())
    try:
        database = Database(server.url(f"growth_{args.orders}"))
        database.migrate()
        print(
            json.dumps({"server": server.version()} | measure(database, args.rounds, args.writing), indent=1)
        )
        database.close()
    finally:
        server.stop()


if __name__ == "__main__":
    main()
