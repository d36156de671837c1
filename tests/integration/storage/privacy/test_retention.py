"""Retention deletes recordings, then words, then whole orders."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from click.testing import Result
from sqlalchemy import func, select, text

from infra.keep_days import KeepDays
from infra.settings import Settings
from infra.sql.database import Database
from schemas.errors import NotFound
from schemas.lifecycle import Event, State
from schemas.records.orders import NewOrder, Outcome
from schemas.shops.settings import FOREVER
from services.storage.base.tables import (
    EventRow,
    IdempotencyRow,
    OrderRow,
    OutboxRow,
    ReviewRecordRow,
    ReviewRow,
)
from services.storage.orders.store import OrderStore
from services.storage.privacy import retention
from services.storage.privacy.retention import RetentionStore
from services.storage.shops.store import ShopStore
from services.workers import sweeper
from services.workers.sweeper import apply_retention, collect_orphans
from tests.integration.marked import WORD, Marked, age, places
from tests.plans import plans
from tests.stand_ins import TESTER, speech

DAY = 86_400.0
# Orders of many shops that retention has already processed: on a nearly empty table PostgreSQL would use any
# index.
MORE_SHOPS = """
    INSERT INTO shops (id, name, created_at, needs_second_step)
    SELECT 'shop_' || n, 'Shop', now(), false FROM generate_series(0, 49) AS n
"""
DONE_WITH = """
    INSERT INTO orders (id, shop_id, state, version, menu_id, menu_version, language, findings, reasons,
        timings, engine, attempt, created_at, updated_at, erased_at, confirm)
    SELECT 'ord_' || n, 'shop_' || n % 50, 'completed', 2, 'cafe', 1, 'en', '[]', '[]', '{}', '{}', 0,
        now() - n * interval '1 min', now() - n * interval '1 min', now(), false
    FROM generate_series(1, 5000) AS n
"""


def rows(database: Database) -> dict[str, int]:
    tables = (OrderRow, EventRow, ReviewRow, ReviewRecordRow, OutboxRow, IdempotencyRow)
    with database.everywhere().read() as session:
        return {
            table.__tablename__: session.scalar(select(func.count()).select_from(table)) or 0
            for table in tables
        }


def done(marked: Marked) -> Counter[str]:
    """Return what the sweeper recorded as done."""
    found = Counter[str]()
    for entry in marked.world.parts.audit.newest(100, action="retention.carried_out"):
        assert entry.actor == "system:sweeper"
        found.update({what: n for what, n in json.loads(str(entry.after)).items() if isinstance(n, int)})
    return found


def test_each_part_is_deleted_when_its_time_is_over(marked: Marked, monkeypatch: pytest.MonkeyPatch) -> None:
    world, box, order_id = marked.world, marked.world.parts, marked.corrected()
    database = box.database
    assert not apply_retention(box)
    assert done(marked) == {}
    before = world.http.get(f"/v1/orders/{order_id}").json()

    age(database, 29)
    apply_retention(box)
    assert done(marked) == {}
    assert len(world.recordings) == 1

    age(database, 2)
    apply_retention(box)
    monkeypatch.setattr(sweeper, "AGE_S", -DAY)
    assert collect_orphans(box) == 1
    assert world.recordings == []
    after = world.http.get(f"/v1/orders/{order_id}").json()
    for name in ("created_at", "updated_at", "utterances"):  # of the times that `age` sets
        before.pop(name), after.pop(name)
    assert after == before, "only the recording went"
    assert done(marked) == {"recordings": 1}

    age(database, 60)
    apply_retention(box)
    assert places(database) == set()
    order = world.http.get(f"/v1/orders/{order_id}").json()
    assert order["erased_at"] is not None
    assert order["cart"]["total"] == before["cart"]["total"]
    assert done(marked) == {"recordings": 1, "transcripts": 1}
    assert box.audit.verify().faults == []

    age(database, 640)
    apply_retention(box)
    assert world.http.get(f"/v1/orders/{order_id}").status_code == 404
    assert set(rows(database).values()) == {0}
    assert done(marked) == {"recordings": 1, "transcripts": 1, "orders": 1}
    assert box.audit.verify().faults == []
    apply_retention(box)
    assert done(marked)["orders"] == 1, "nothing is left to do"


def test_unsettled_orders_are_kept(marked: Marked) -> None:
    box, pipeline = marked.world.parts, marked.pipeline
    waiting, reviewed = marked.submit(spoken=True, key=1), marked.submit(spoken=True, key=2)
    assert pipeline.until_settled(reviewed).state is State.IN_REVIEW
    proposed, _ = pipeline.orders.create(
        NewOrder("trap-cafe", 1, "en", transcript=speech(WORD), confirm=True)
    )
    with box.database.everywhere().write() as session:
        session.execute(text("UPDATE orders SET state = 'proposed' WHERE id = :id"), {"id": proposed.id})
    age(box.database, 4000)
    before = (rows(box.database), places(box.database), len(marked.world.recordings))
    assert not apply_retention(box)
    assert (rows(box.database), places(box.database), len(marked.world.recordings)) == before
    assert done(marked) == {}
    marked.world.http.post(f"/v1/orders/{waiting}/cancel")
    assert not apply_retention(box)
    assert done(marked) == {}, "its time begins now"


def test_each_shop_has_its_own_retention(marked: Marked) -> None:
    box, database = marked.world.parts, marked.world.parts.database
    made = {}
    for shop in ("short", "long", "main"):
        if shop != "main":
            box.shops.add(shop, shop, by=TESTER)
        store = OrderStore(database, shop)
        order, _ = store.create(NewOrder("x", 1, "en", transcript=speech(WORD), metadata={"a": WORD}))
        store.cancel(order.id)
        made[shop] = order.id
    box.shops.set_retention("short", {"transcripts": 1, "orders": 3}, by=TESTER)
    kept = box.shops.set_retention("long", {"transcripts": FOREVER, "orders": FOREVER}, by=TESTER).keeps
    assert kept.shown() == {"recordings": "default", "transcripts": "forever", "orders": "forever"}

    def erased() -> set[str]:
        with database.everywhere().read() as session:
            return set(session.scalars(select(OrderRow.id).where(OrderRow.erased_at.is_not(None))))

    age(database, 2)
    apply_retention(box)
    assert erased() == {made["short"]}
    age(database, 100)
    apply_retention(box)
    assert erased() == {made["main"]}
    age(database, 1000)
    apply_retention(box)
    with database.everywhere().read() as session:
        assert list(session.scalars(select(OrderRow.id))) == [made["long"]]
    (entry,) = box.audit.newest(5, shop="long", action="shop.keeps")
    assert entry.before == '{"orders":"default","recordings":"default","transcripts":"default"}'
    assert entry.after == '{"orders":"forever","recordings":"default","transcripts":"forever"}'
    box.shops.set_retention("long", {"transcripts": None}, by=TESTER)
    apply_retention(box)
    assert erased() == {made["long"]}


def test_steps_are_small_and_repeated_after_a_crash(marked: Marked, monkeypatch: pytest.MonkeyPatch) -> None:
    database, pipeline = marked.world.parts.database, marked.pipeline
    orders = [pipeline.spoken() for _ in range(25)]
    for order_id in orders:
        pipeline.orders.commit(pipeline.orders.get(order_id), Outcome(Event.BROKE))
    age(database, 4000)
    store = RetentionStore(database, "main")
    assert store.step("recordings", DAY, limit=10) == 10

    # Killed midway: nothing has changed, and the next run finds the same.
    before, entries = rows(database), done(marked)

    def dies(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(retention, "record", dies)  # its last step
        for step in retention.STEPS:
            with pytest.raises(KeyboardInterrupt):
                store.step(step, DAY, limit=10)
    assert (rows(database), done(marked)) == (before, entries)
    with database.everywhere().read() as session:
        assert session.scalar(select(func.count()).where(OrderRow.audio_key.is_not(None))) == 15
        assert session.scalar(select(func.count()).where(OrderRow.erased_at.is_not(None))) == 0
    assert [store.step("transcripts", DAY, limit=10) for _ in range(4)] == [10, 10, 5, 0]
    assert [store.step("orders", DAY, limit=10) for _ in range(4)] == [10, 10, 5, 0]
    assert rows(database)["orders"] == 0


def test_retention_queries_use_indexes(database: Database) -> None:
    """With a million orders, a query must not read them all."""
    if not database.is_sqlite:
        with database.everywhere().write() as session:
            session.execute(text(MORE_SHOPS))
            session.execute(text(DONE_WITH))
            session.execute(text("ANALYZE orders"))
    store = RetentionStore(database, "main")
    indexes = {
        "recordings": "ix_orders_with_recording",
        "transcripts": "ix_orders_with_words",
        "orders": "ix_orders_shop_listing",
    }
    with database.everywhere().read() as session:
        end = database.now(session) - timedelta(seconds=DAY)
        for step, index in indexes.items():
            whole = store.over(step, end, 10).with_only_columns(OrderRow.id)
            compiled = whole.compile(
                session.get_bind(), compile_kwargs={"literal_binds": True, "render_postcompile": True}
            )
            (plan,) = plans(session, [(str(compiled), ())])
            assert index in plan, plan
            assert "TEMP B-TREE" not in plan
            assert "Sort" not in plan


DAYS = ("0", "-1", "1.5", "36501", "never", "", "1 day", "٣")


@pytest.mark.parametrize(
    "given", [*(f"orders={days}" for days in DAYS), "", "7", "orders=7, orders=8", "carts=7"]
)
def test_ambiguous_values_are_rejected(given: str) -> None:
    with pytest.raises(ValueError, match="keep_days"):
        Settings(keep_days=given)


def test_the_command_line_sets_and_shows(saycart: Callable[..., Result], database: Database) -> None:
    def run(*words: str) -> tuple[int, str]:
        found = saycart("shops", *words)
        return found.exit_code, found.output

    assert run("set", "main")[0] == run("set", "main", "--keep-orders-days", "0")[0] == 1
    assert run("set", "no-shop", "--keep-orders-days", "9")[0] == 1
    code, said = run("set", "main", "--keep-recordings-days", "14", "--keep-orders-days", "forever")
    assert code == 0
    assert said.splitlines()[0] == "recordings: 14, transcripts: default, orders: forever"
    assert run("set", "main", "--keep-recordings-days", "default")[1].startswith("recordings: default")
    assert "confirmed first\nallergies: accepted as notes" in run("set", "main", "--accept-allergies")[1]
    both = run("set", "main", "--accept-at-once", "--check-allergies")[1]
    assert "accepted at once\nallergies: checked by a person" in both
    assert "second step: required" in run("set", "main", "--second-step")[1]
    assert "forever" in run("list")[1]
    with pytest.raises(NotFound):
        ShopStore(database).set_retention("no-shop", {"orders": 1}, by=TESTER)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("recordings=7", KeepDays(recordings=7)),
        ("orders=forever, transcripts=1", KeepDays(transcripts=1, orders="forever")),
    ],
)
def test_omitted_parts_have_their_defaults(given: str, kept: KeepDays) -> None:
    assert Settings(keep_days=given).keeps == kept
