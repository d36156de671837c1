"""Finished orders by the ten million on PostgreSQL: a seed that Python makes, copied by the server itself.

Each copy is the seed moved back in time by as much as the seed covers, under ids of its own, so that the rows
lie in the order of their time as those of a real year do. Copies are stored oldest first, the seed's own
time last.
"""

from __future__ import annotations

from datetime import timedelta
from itertools import islice
from typing import Any

from infra.sql.database import Database
from tests.bench.many_orders import CHUNK, COLUMNS, DAYS, TOLD_DAYS, into_postgresql, made

SEED = 50_000
IDS = {
    "orders": ("id",),
    "order_events": ("order_id",),
    "order_codes": ("order_id",),
    "reviews": ("id", "order_id"),
    "review_records": ("id", "review_id"),
    "outbox": ("id", "order_id"),
}
TIMES = {"created_at", "updated_at", "at", "decided_at", "delivered_at"}


def fill_by_copies(database: Database, orders: int) -> dict[str, int]:
    """Add so many finished orders over the last 30 days; how many rows each table got."""
    copies = max(1, round(orders / SEED))
    window = timedelta(days=DAYS) / copies
    with database.read() as session:
        until = database.now(session) - timedelta(minutes=1)
    added = dict.fromkeys(COLUMNS, 0)
    with database.write() as session:
        connection: Any = session.connection().connection.driver_connection
        # References hold by how the rows are made; looking each up would take most of the time.
        connection.execute("SET LOCAL session_replication_role = replica")
        for table in COLUMNS:
            connection.execute(f"CREATE TEMP TABLE seed_{table} (LIKE {table} INCLUDING DEFAULTS)")
        rows = made(min(orders, SEED), until, zone="+00", days=window / timedelta(days=1))
        while chunk := list(islice(rows, CHUNK)):
            for table in COLUMNS:
                into_postgresql(connection, table, [row for name, row in chunk if name == table], "seed_")
        for number in reversed(range(copies)):
            for table in COLUMNS:
                if table == "outbox" and window * number > timedelta(days=TOLD_DAYS):
                    continue
                added[table] += connection.execute(_copy(connection, table), _moved(number, window)).rowcount
    return added


def _moved(number: int, window: timedelta) -> dict[str, Any]:
    return {"back": window * number, "mark": f"{number:04d}"}


def _copy(connection: Any, table: str) -> str:
    found = connection.execute(f"SELECT * FROM {table} LIMIT 0").description
    names = [f'"{column.name}"' for column in found]
    taken = []
    for name in names:
        bare = name.strip('"')
        if bare in IDS[table]:
            # "ord_0000…" becomes "ord_0004…": ids go on sorting by age within a copy.
            taken.append(f"overlay({name} placing %(mark)s from 5 for 4)")
        elif bare in TIMES:
            taken.append(f"{name} - %(back)s")
        else:
            taken.append(name)
    return f"INSERT INTO {table} ({', '.join(names)}) SELECT {', '.join(taken)} FROM seed_{table}"
