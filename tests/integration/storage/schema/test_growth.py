"""With much that waits, a claim reads about what it takes: rows and steps counted, on both databases."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from sqlalchemy import Engine, bindparam, event, text

from infra.sql.database import Database, UtcDateTime
from schemas.lifecycle import Event, State
from schemas.records.orders import NewOrder, OrderRecord, Outcome
from schemas.review import ReviewReason
from schemas.shops.webhook import TYPES
from schemas.transcript import Transcript
from services.storage.base import changes
from services.storage.orders.load import LoadStore
from services.storage.orders.store import OrderStore
from services.storage.outbox.store import Outbox
from services.storage.reviews.statistics import decided
from services.storage.reviews.store import ReviewStore
from tests.plans import plans
from tests.servers.postgresql import PostgreSQL

ALL = frozenset(TYPES.values())
TYPED = NewOrder("cafe", 1, "en", transcript=Transcript(text="a latte", confidence=1.0))
WAITING, TAKEN = 20_000, 8
CROWD = """
    WITH RECURSIVE place(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM place WHERE n < :last)
    INSERT INTO outbox (id, order_id, seq, type, payload, version, attempt, created_at, next_attempt_at,
        due_at, endpoint_id)
    SELECT 'msg_' || n, CASE n % 2 WHEN 0 THEN :one ELSE :other END, n, 'order.completed', '{}', 1, 0,
        :now, :wait, CASE WHEN n = 0 THEN :now ELSE :later END, ''
    FROM place
"""
Asked = list[tuple[str, Any]]


@pytest.fixture(autouse=True)
def _no_statistics(request: pytest.FixtureRequest, database_url: str) -> None:
    """Forget what PostgreSQL knows of rows that earlier tests removed: it would plan by them."""
    if database_url.startswith("sqlite"):
        return
    server: PostgreSQL = request.getfixturevalue("postgresql")
    url = server.url(request.getfixturevalue("migrated_postgresql"), "postgres").replace("+psycopg", "")
    with psycopg.connect(url) as admin:
        admin.execute("DELETE FROM pg_statistic WHERE starelid IN ('orders'::regclass, 'outbox'::regclass)")


@pytest.fixture
def orders(database: Database) -> OrderStore:
    return OrderStore(database, "main", ALL)


@pytest.fixture
def outbox(database: Database) -> Outbox:
    return Outbox(database)


def proposed(orders: OrderStore) -> OrderRecord:
    """An order with its first message; confirming it adds the second."""
    order, _ = orders.create(TYPED)
    order = orders.commit(order, Outcome(Event.DECODED))
    return orders.commit(order, Outcome(Event.PROPOSED))


def confirmed(orders: OrderStore) -> OrderRecord:
    return orders.commit(proposed(orders), Outcome(Event.CONFIRMED))


def claimed(outbox: Outbox, limit: int = 10) -> list[tuple[str, int]]:
    return [(m.order_id, m.seq) for m in outbox.claim(owner="c", limit=limit, lease_s=60)]


def crowd(database: Database, orders: OrderStore, shape: str) -> None:
    """Messages that can't go: put off with the one before them, or because the receiver is away."""
    ids = [orders.create(TYPED)[0].id for _ in range(2)]
    with database.write() as session:
        now = database.now(session)
        later = now + timedelta(days=365)
        wait = None if shape == "behind" else later
        told = {"one": ids[0], "other": ids[0 if shape == "behind" else 1], "last": WAITING - 1}
        times = (bindparam(name, type_=UtcDateTime) for name in ("now", "wait", "later"))
        statement = text(CROWD).bindparams(*times)
        session.execute(statement, told | {"now": now, "wait": wait, "later": later})


@contextmanager
def asked() -> Iterator[Asked]:
    """The statements of the block that read a table."""
    found: Asked = []

    def note(_connection: Any, _cursor: Any, statement: str, values: Any, *_: Any) -> None:
        if re.search(r"\bFROM\b", statement) and statement.startswith("SELECT"):
            found.append((statement, values))

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield found
    finally:
        event.remove(Engine, "before_cursor_execute", note)


def rows_read(plan: dict[str, Any]) -> float:
    """Rows that the scans of a plan looked at, taken or thrown away."""
    own = 0.0
    if "Scan" in plan["Node Type"]:
        own = plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0)
        own *= plan["Actual Loops"]
    return own + sum(rows_read(one) for one in plan.get("Plans", ()))


def effort(database: Database, call: Callable[[], object]) -> float:
    """Of a call's reads: rows that PostgreSQL looked at, or hundreds of steps of SQLite's machine."""
    with asked() as statements:
        call()
    total = 0.0
    with database.write() as session:
        connection = session.connection()
        if database.is_sqlite:
            ticks = 0

            def tick() -> int:
                nonlocal ticks
                ticks += 1
                return 0

            driver: Any = connection.connection.driver_connection
            driver.set_progress_handler(tick, 100)
            for statement, values in statements:
                connection.exec_driver_sql(statement, values).all()
            driver.set_progress_handler(None, 0)
            return float(ticks)
        for statement, values in statements:
            explain = f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}"
            [plan] = connection.exec_driver_sql(explain, values).scalar_one()
            total += rows_read(plan["Plan"])
    return total


@pytest.mark.parametrize("shape", ["behind", "put off"])
def test_a_claim_reads_what_it_takes_however_much_waits(
    database: Database, orders: OrderStore, outbox: Outbox, shape: str
) -> None:
    crowd(database, orders, shape)
    fresh = {proposed(orders).id for _ in range(3 * TAKEN)}

    def claim() -> None:
        taken = outbox.claim(owner="c", limit=TAKEN, lease_s=60)
        assert len(taken) == TAKEN
        assert len(fresh & {message.order_id for message in taken}) >= TAKEN - 1

    # Both at its statistics of nothing, as after a burst, and at those of what is there.
    assert effort(database, claim) < 30 * TAKEN
    with database.write() as session:
        session.execute(text("ANALYZE"))
    assert effort(database, claim) < 30 * TAKEN


def test_each_way_to_close_lets_the_next_go(orders: OrderStore, outbox: Outbox) -> None:
    order = confirmed(orders)
    [first] = outbox.claim(owner="c", limit=9, lease_s=60)
    assert outbox.failed(first, "no", retry_in_s=None)
    assert claimed(outbox) == [(order.id, first.seq + 1)], "dead"
    another = confirmed(orders)
    [first] = outbox.claim(owner="c", limit=9, lease_s=60)
    assert outbox.delivered(first)
    # Back in front of one that goes already: that one waits again, and goes after it.
    assert outbox.replay([first.id]) == [first.id]
    [again] = outbox.claim(owner="c", limit=9, lease_s=60)
    assert (again.order_id, again.id, again.attempt) == (another.id, first.id, 1)
    assert outbox.delivered(again)
    assert claimed(outbox) == [(another.id, first.seq + 1)]


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)  # SQLite has one writer at a time
def test_a_message_that_comes_while_the_one_before_is_closed_goes(
    database: Database, orders: OrderStore, outbox: Outbox
) -> None:
    order = proposed(orders)
    [first] = outbox.claim(owner="c", limit=9, lease_s=60)
    closing = threading.Thread(target=outbox.delivered, args=[first])
    blocked = text(
        "SELECT count(*) FROM pg_stat_activity "
        "WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    with changes.writing(database) as (session, now):
        changes.move(session, now, order, Event.CONFIRMED, tells=ALL)
        closing.start()
        end = time.monotonic() + 20
        # It waits for this transaction, or is done before it.
        while closing.is_alive() and time.monotonic() < end:
            with database.read() as other:
                if other.scalar(blocked):
                    break
            time.sleep(0.02)
    closing.join(20)
    assert claimed(outbox) == [(order.id, first.seq + 1)]


def test_the_list_goes_on_where_it_ended(orders: OrderStore, outbox: Outbox) -> None:
    for _ in range(5):
        proposed(orders)
    whole = [message.id for message in outbox.list(dead=False, limit=10)]
    pages = [outbox.list(dead=False, limit=2)]
    while len(pages[-1]) == 2:
        pages.append(outbox.list(dead=False, limit=2, after=pages[-1][-1].cursor))
    assert [message.id for page in pages for message in page] == whole


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_claims_and_heartbeats_of_orders_change_no_index(database_url: str, database: Database) -> None:
    """Heap-only updates: PostgreSQL says how many of all were."""
    counted = text("SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'orders'")
    ids = [OrderStore(database, "main").create(TYPED)[0].id for _ in range(5)]
    with database.read() as session:
        updated, hot = session.execute(counted).one()
    another = Database(database_url)  # its server process tells its counts when it ends
    store = OrderStore(another, "main")
    for order_id in ids:
        order = store.claim(order_id, State.TRANSCRIBED, owner="w", lease_s=60)
        assert order is not None
        assert store.renew(order, 90)
    another.close()
    end = time.monotonic() + 20
    while True:
        with database.read() as session:
            now_updated, now_hot = session.execute(counted).one()
        if now_updated - updated >= 10 or time.monotonic() > end:
            break
        time.sleep(0.05)
    assert (now_updated - updated, now_hot - hot) == (10, 10)


def test_what_waits_is_found_by_indexes_of_what_waits(database: Database, orders: OrderStore) -> None:
    outbox, reviews = Outbox(database), ReviewStore(database, "main")
    # SQLite takes the index of all messages of an order, which are few, for as good.
    first_of_order = "ix_outbox_place" if database.is_sqlite else "ix_outbox_first"
    wanted: dict[str, Callable[[], object]] = {
        "ix_orders_waiting": lambda: orders.due(limit=10, idle_s=1),
        "ix_orders_waiting_clients": LoadStore(database).load,
        "ix_orders_left": LoadStore(database).load,
        "ix_orders_may_go_on": orders.failed,
        "ix_reviews_undecided": lambda: reviews.list(limit=9, cursor=None, include_claimed=False),
        "ix_outbox_endpoint_due": lambda: outbox.claim(owner="c", limit=1, lease_s=1),
        first_of_order: lambda: outbox.claim(owner="c", limit=1, lease_s=1),
        "ix_outbox_waiting": lambda: outbox.list(dead=False, limit=9),
        "ix_outbox_dead": lambda: outbox.list(dead=True, limit=9),
        "ix_orders_status_listing": orders.counts,
        "ix_order_events_at": orders.event_counts,
        "ix_order_codes_at": orders.code_counts,
    }
    with asked() as statements:
        for call in [*wanted.values(), lambda: orders.doubted(ReviewReason.LOW_ASR_CONFIDENCE)]:
            call()
    with database.read() as session:
        found = plans(session, statements)
    if not database.is_sqlite:  # of an empty table it takes any that could serve, and two could
        wanted.pop("ix_orders_may_go_on")
    for index in wanted:
        assert any(f"{index} " in plan or f"{index}'" in plan for plan in found), index
    assert not [plan for plan in found if "SEQ SCAN" in plan.upper() or "SCAN orders\n" in plan]
    ordered = [plan for (query, _), plan in zip(statements, found, strict=True) if "LIMIT" in query]
    assert not [plan for plan in ordered if "TEMP B-TREE FOR ORDER" in plan or "Sort" in plan]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)  # whose plans do not go by sizes
def test_statistics_read_decisions_by_their_time(database: Database) -> None:
    with asked() as statements:
        decided(database, "main", 24)
    with database.read() as session:
        found = plans(session, statements)
    assert found
    assert all("ix_review_records_decided" in plan for plan in found)
    assert not [plan for plan in found if "SCAN review" in plan]
