"""The last release works on the newest tables, as it must while an upgrade rolls; and what it left is read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from api_world import running

from infra.database import Database
from infra.revisions import known
from schemas.access import EVERY_SHOP
from services.storage.orders import OrderStore
from services.workers.sweeper import fold
from tests.last_release import unpack

SCRIPT = Path(__file__).parent / "last_release_orders.py"
STATES = {"approved": "completed"}


def taken(release: Path, url: str) -> dict[str, str]:
    """Orders that the last release made on these tables, by what became of them."""
    ran = subprocess.run(
        [sys.executable, SCRIPT, url, release / "home"],
        cwd=release,
        env=os.environ | {"PYTHONPATH": str(release)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    found: dict[str, str] = json.loads(ran.stdout.splitlines()[-1])
    return found


def read(url: str, home: Path, orders: dict[str, str]) -> None:
    """This release reads them all, by itself and over HTTP, and goes on with what waits."""
    with running(home, url) as world:
        for became, order_id in orders.items():
            found = world.parts.orders.get(order_id)
            assert found.state == STATES.get(became, became)
            assert world.http.get(f"/v1/orders/{order_id}").status_code == 200
            assert world.parts.orders.events(order_id)
        listed = {order["id"] for order in world.http.get("/v1/orders").json()["orders"]}
        assert listed >= set(orders.values())
        assert world.http.get("/v1/reviews").json()["reviews"][0]["order_id"] == orders["in_review"]
        assert "saycart_database_up 1" in world.http.get("/metrics").text
        fold(world.parts)
        waiting = OrderStore(world.parts.database, EVERY_SHOP).due(limit=10, idle_s=0)
        assert {order for order, _ in waiting} == {orders["transcribed"], orders["decoded"]}


def test_the_last_release_works_on_the_newest_tables(database_url: str, tmp_path: Path) -> None:
    release = unpack(tmp_path)
    orders = taken(release, database_url)
    read(database_url, tmp_path / "ours", orders)


def test_tables_of_the_last_release_are_migrated_with_orders_in_every_state(
    empty_url: str, tmp_path: Path
) -> None:
    release = unpack(tmp_path)
    database = Database(empty_url)
    last = max(file.name[1:5] for file in (release / "infra/migrations/versions").glob("v[0-9]*.py"))
    assert last in known()
    try:
        database.migrate(last)
        orders = taken(release, empty_url)
        assert database.migrate() == (last, known()[-1])
    finally:
        database.close()
    read(empty_url, tmp_path / "ours", orders)
