"""Orders of an earlier release, after the tables were brought to this one's."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import text

from infra.sql.database import Database
from schemas.lifecycle import State
from services.storage.orders.store import OrderStore

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


def test_tallies_of_corrections_lose_the_customers_words(empty_url: str) -> None:
    """They are counted without an end, under names that only the customer had for what a menu lacks."""
    database = Database(empty_url)
    menu = json.dumps({"items": [{"name": "latte"}, {"name": "blueberry muffin"}]})
    counted = {
        "a flat white taken off": 2, "my usual taken off": 1, "latte taken off": 4, "my usual added": 1,
        "my usual → latte": 3, "latte → my usual": 1, "latte → blueberry muffin": 5, "with oat milk": 6,
        "another number of my usual": 7, "another number of latte": 8,
    }  # fmt: skip
    row: dict[str, Any] = {"shop_id": "main", "hour": "2026-01-01 00:00:00+00:00", "kind": "change"}
    try:
        database.migrate("0011")
        insert(
            database,
            "menus",
            {
                "shop_id": "main", "id": "m", "version": 1, "digest": "d", "name": "M", "document": menu,
                "created_at": row["hour"], "currency": "USD", "language": "en", "items": 2, "sold_out": 0,
            },
        )  # fmt: skip
        for code, count in counted.items():
            insert(database, "review_tallies", {**row, "code": code, "count": count})
        insert(database, "review_tallies", {**row, "kind": "by", "code": "my usual taken off", "count": 1})
        database.migrate()
        with database.read() as session:
            found = session.execute(text("SELECT kind, code, count FROM review_tallies")).all()
        assert {(kind, code): count for kind, code, count in found} == {
            ("by", "my usual taken off"): 1,
            **{
                ("change", code.replace("my usual", "something that is not on the menu")): count
                for code, count in counted.items()
                if "taken off" not in code
            },
            ("change", "latte taken off"): 4,
            ("change", "something that is not on the menu taken off"): 3,
        }
    finally:
        database.close()
