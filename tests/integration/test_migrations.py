"""Orders of an earlier release, after the tables were brought to this one's."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import text

from infra.database import Database
from schemas.lifecycle import State
from services.storage.orders import OrderStore

ORDER: dict[str, Any] = {
    "id": "ord_1",
    "state": "validated",
    "version": 4,
    "menu_id": "cafe",
    "menu_version": 1,
    "language": "en",
    "transcript": json.dumps({"text": "a latte", "confidence": 1.0}),
    "draft": json.dumps({"lines": []}),
    "findings": "[]",
    "reasons": "[]",
    "timings": "{}",
    "engine": "{}",
    "attempt": 1,
    "lease_owner": "an old worker",
    "created_at": "2026-01-01 00:00:00+00:00",
    "updated_at": "2026-01-01 00:00:00+00:00",
}
EVENT = {
    "order_id": "ord_1",
    "seq": 4,
    "at": "2026-01-01 00:00:00+00:00",
    "type": "validated",
    "state": "validated",
    "detail": "{}",
}


def insert(database: Database, table: str, row: dict[str, Any]) -> None:
    names = ", ".join(row)
    values = ", ".join(f":{name}" for name in row)
    with database.write() as session:
        session.execute(text(f"INSERT INTO {table} ({names}) VALUES ({values})"), row)


def test_what_waited_for_triage_is_validated_again_and_its_history_can_be_read(empty_url: str) -> None:
    database = Database(empty_url)
    try:
        database.migrate("0004")
        insert(database, "orders", ORDER)
        insert(database, "order_events", EVENT)
        database.migrate()
        orders = OrderStore(database, "main")
        found = orders.get("ord_1")
        assert (found.state, found.version, found.lease_owner) == (State.DECODED, 5, None)
        assert found.evidence is None
        (event,) = orders.events("ord_1")
        assert (event.type, event.state) == ("validated", State.DECODED)
        assert orders.claim("ord_1", State.DECODED, owner="w", lease_s=60) is not None
    finally:
        database.close()
