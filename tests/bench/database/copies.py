"""Finished orders by the ten million on PostgreSQL: a seed that Python makes, copied by the server itself.

Each copy is the seed moved back in time by as much as the seed covers, under ids of its own with the time in
them, as real ids have it, so that rows lie in the order of their time and events in their weeks. Copies are
stored oldest first, each in a transaction: what was cut off goes on where it was. Those of more than
`WORDS_DAYS` ago are as retention leaves them, without words and drafts; of their reviews the carts are left
out too, which retention would keep as priced lines.
"""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from sqlalchemy import text

from infra.sql.database import Database
from services.storage.base.ids import first_id
from services.storage.orders.event_weeks import WEEK, weeks
from services.storage.privacy import redaction
from tests.bench.database.many_orders import CHUNK, COLUMNS, DAYS, TOLD_DAYS, into_postgresql, made

SEED = 50_000  # orders at most
COPIES = 100  # at least, since all orders of one have the same time in their ids
WORDS_DAYS = 7
IDS = {
    "orders": ("id",),
    "order_events": ("order_id",),
    "order_codes": ("order_id",),
    "reviews": ("id", "order_id"),
    "review_records": ("id", "review_id"),
    "outbox": ("id", "order_id"),
}
TIMES = {"created_at", "updated_at", "at", "decided_at", "delivered_at", "erased_at"}


def fill_by_copies(database: Database, orders: int, days: int = DAYS) -> dict[str, int]:
    """Add so many finished orders over the last days; how many rows each table got in this run."""
    seed = min(SEED, max(1, orders // COPIES))
    copies = max(1, round(orders / seed))
    window = timedelta(days=days) / copies
    until, left = _begun(database, seed, copies, window)
    added = dict.fromkeys(COLUMNS, 0)
    for number in reversed(range(left)):
        with database.write() as session:
            connection: Any = session.connection().connection.driver_connection
            # References hold by how the rows are made; looking each up would take most of the time.
            connection.execute("SET LOCAL session_replication_role = replica")
            back = window * number
            told = {"back": back, "mark": first_id("ord", until - back - window)[4:]}
            for table in COLUMNS:
                if table == "outbox" and back > timedelta(days=TOLD_DAYS):
                    continue
                which = "old_" if back > timedelta(days=WORDS_DAYS) else "seed_"
                added[table] += connection.execute(_copy(connection, table, which), told).rowcount
            connection.execute("UPDATE bench.told SET copies = %s", [number])
        if number % 20 == 0:
            print(f"{number * seed:,} orders to go", flush=True)
    return added


def _begun(database: Database, seed: int, copies: int, window: timedelta) -> tuple[datetime, int]:
    """Until when the orders came, and how many copies are to be made: all, or what an earlier run left."""
    with database.write() as session:
        if session.scalar(text("SELECT to_regclass('bench.told')")):
            until, left = session.execute(text("SELECT until, copies FROM bench.told")).one()
            return until, left
        until = database.now(session) - timedelta(minutes=1)
        connection: Any = session.connection().connection.driver_connection
        connection.execute("CREATE SCHEMA bench")
        for table in COLUMNS:
            connection.execute(f"CREATE TABLE bench.seed_{table} (LIKE {table} INCLUDING DEFAULTS)")
        rows = made(seed, until, zone="+00", days=window / timedelta(days=1))
        while chunk := list(islice(rows, CHUNK)):
            for table in COLUMNS:
                into_postgresql(
                    connection, table, [row for name, row in chunk if name == table], "bench.seed_"
                )
        for table in COLUMNS:
            connection.execute(f"CREATE TABLE bench.old_{table} AS SELECT * FROM bench.seed_{table}")
        _erase(connection)
        _make_weeks(connection, until, copies * window)
        connection.execute("CREATE TABLE bench.told AS SELECT %s AS until, %s AS copies", [until, copies])
        return until, copies


def _erase(connection: Any) -> None:
    """Of orders whose words are over their time: all carts are one."""
    found = connection.execute("SELECT cart FROM bench.seed_orders WHERE cart IS NOT NULL LIMIT 1").fetchone()
    cart = json.dumps(redaction.cart(found[0]))
    connection.execute(
        "UPDATE bench.old_orders SET transcript = NULL, draft = NULL, client = NULL, erased_at = updated_at, "
        "version = version + 1, cart = CASE WHEN cart IS NOT NULL THEN %s::json END",
        [cart],
    )
    connection.execute("UPDATE bench.old_reviews SET proposed = NULL")
    connection.execute("UPDATE bench.old_review_records SET before = NULL, after = NULL")


def _make_weeks(connection: Any, until: datetime, over: timedelta) -> None:
    """As if the weeks had been made ahead all the time, in a database that has no orders yet."""
    connection.execute("SELECT saycart_drop_events('order_events_before')")
    for part in weeks(until - over - WEEK, over // WEEK + 4):
        connection.execute("SELECT saycart_add_events(%s, %s, %s)", [part.name, part.first, part.beyond])


def _copy(connection: Any, table: str, which: str) -> str:
    found = connection.execute(f"SELECT * FROM {table} LIMIT 0").description
    names = [f'"{column.name}"' for column in found]
    taken = []
    for name in names:
        bare = name.strip('"')
        if bare in IDS[table]:
            # The time of the copy's first order, for all of it: ids go on sorting by age within a copy.
            taken.append(f"overlay({name} placing %(mark)s from 5 for 10)")
        elif bare in TIMES:
            taken.append(f"{name} - %(back)s")
        else:
            taken.append(name)
    return f"INSERT INTO {table} ({', '.join(names)}) SELECT {', '.join(taken)} FROM bench.{which}{table}"
