"""What it costs to let orders and events go on PostgreSQL: by retention's steps, by a range, by partition.

Called by `growth.py` last, since it takes away what it measures: the oldest orders.
"""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

from sqlalchemy import text

from infra.sql.database import Database
from services.storage.base.ids import first_id
from services.storage.orders.event_weeks import EventWeeks
from services.storage.privacy.retention import STEP, RetentionStore

STEPS = 40
_SIZE = text("SELECT pg_total_relation_size(to_regclass(:name))")
_LOG = text("SELECT pg_current_wal_insert_lsn() - '0/0'")


def forget(database: Database) -> dict[str, Any]:
    """Times in ms, bytes of log (WAL) and of files: of whole orders by retention, of a day's events deleted,
    of the vacuum of their week, of a week dropped."""
    with database.read() as session:
        oldest = session.scalar(text("SELECT min(created_at) FROM orders"))
        now = database.now(session)
    found: dict[str, Any] = {"retention": _retained(database, (now - oldest) / timedelta(seconds=1) / 2)}
    day = oldest + timedelta(days=1)
    week = next(part for part in EventWeeks(database).parts() if part.beyond > first_id("ord", day))
    bounds = {"first": first_id("ord", day), "beyond": first_id("ord", day + timedelta(days=1))}
    deleted = text("DELETE FROM order_events WHERE order_id >= :first AND order_id < :beyond")
    with database.write() as session:
        log, began = session.scalar(_LOG), time.perf_counter()
        rows = session.execute(deleted, bounds).rowcount
    with database.read() as session:
        told = {"events": rows, "ms": _since(began), "wal_bytes": int(session.scalar(_LOG) - log)}
    found["a day deleted"] = told
    began = time.perf_counter()
    with database._engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql(f"VACUUM {week.name}")
    found["vacuum of its week"] = {"ms": _since(began), "bytes_then": _size(database, week.name)}
    with database.write() as session:
        size, log = session.scalar(_SIZE, {"name": week.name}), session.scalar(_LOG)
        rows = session.scalar(text(f"SELECT count(*) FROM {week.name}"))
        began = time.perf_counter()
        session.execute(text(f"DROP TABLE {week.name}"))
    with database.read() as session:
        told = {"events": rows, "ms": _since(began), "bytes": size}
        found["a week dropped"] = told | {"wal_bytes": int(session.scalar(_LOG) - log)}
    return found


def _retained(database: Database, older_than_s: float) -> dict[str, Any]:
    store = RetentionStore(database, "main")
    began = time.perf_counter()
    orders = sum(store.orders(older_than_s, STEP) for _ in range(STEPS))
    return {"orders": orders, "ms_an_order": round(_since(began) / max(orders, 1), 2)}


def _size(database: Database, name: str) -> int:
    with database.read() as session:
        return int(session.scalar(_SIZE, {"name": name}) or 0)


def _since(began: float) -> float:
    return round((time.perf_counter() - began) * 1000, 1)
