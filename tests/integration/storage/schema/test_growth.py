"""Queries for waiting orders and messages use indexes."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from sqlalchemy import Engine, event, text

from infra.sql.database import Database
from schemas.lifecycle import Event
from schemas.records.orders import Outcome
from schemas.review import ReviewReason
from services.storage.base import changes
from services.storage.orders.load import LoadStore
from services.storage.orders.store import OrderStore
from services.storage.outbox.store import Outbox
from services.storage.reviews.store import ReviewStore
from services.storage.statistics import decided, order_statistics
from tests.endpoints import TILL
from tests.integration.storage.test_outbox import claim, moved
from tests.plans import plans
from tests.servers.postgresql import PostgreSQL

PROPOSED = (Event.DECODED, Event.PROPOSED)
Asked = list[tuple[str, Any]]


@pytest.fixture(autouse=True)
def _no_statistics(request: pytest.FixtureRequest, database_url: str) -> None:
    """Reset PostgreSQL's statistics of rows that earlier tests deleted."""
    if database_url.startswith("sqlite"):
        return
    server: PostgreSQL = request.getfixturevalue("postgresql")
    url = server.url(request.getfixturevalue("migrated_postgresql"), "postgres").replace("+psycopg", "")
    with psycopg.connect(url) as admin:
        admin.execute("DELETE FROM pg_statistic WHERE starelid IN ('orders'::regclass, 'outbox'::regclass)")


@contextmanager
def asked() -> Iterator[Asked]:
    """Collect the block's statements that read a table."""
    found: Asked = []

    def note(_connection: Any, _cursor: Any, statement: str, values: Any, *_: Any) -> None:
        if re.search(r"\bFROM\b", statement) and statement.startswith("SELECT"):
            found.append((statement, values))

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield found
    finally:
        event.remove(Engine, "before_cursor_execute", note)


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)  # SQLite has one writer at a time
def test_a_message_added_while_the_previous_one_is_closed_is_sent(
    database: Database, orders: OrderStore, outbox: Outbox
) -> None:
    order = moved(orders, *PROPOSED)
    [first] = claim(outbox)
    closing = threading.Thread(target=outbox.delivered, args=[first])
    blocked = text(
        "SELECT count(*) FROM pg_stat_activity "
        "WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    with changes.writing(database) as (session, now):
        changes.move(session, now, order, Outcome(Event.CONFIRMED))
        closing.start()
        end = time.monotonic() + 20
        # It waits for this transaction, or finishes before it.
        while closing.is_alive() and time.monotonic() < end:
            with database.read() as other:
                if other.scalar(blocked):
                    break
            time.sleep(0.02)
    closing.join(20)
    assert [(one.order_id, one.seq) for one in claim(outbox)] == [(order.id, first.seq + 1)]


def test_waiting_rows_are_found_by_partial_indexes(database: Database, orders: OrderStore) -> None:
    outbox, reviews = Outbox(database), ReviewStore(database, "main")
    # SQLite considers the index of an order's messages, which are few, as good.
    first_of_order = "ix_outbox_place" if database.is_sqlite else "ix_outbox_first"
    wanted: dict[str, Callable[[], object]] = {
        "ix_orders_waiting": lambda: orders.due(limit=10, idle_s=1),
        "ix_orders_waiting_clients": LoadStore(database).load,
        "ix_orders_left": LoadStore(database).load,
        "ix_orders_may_go_on": orders.failed,
        "ix_reviews_undecided": lambda: reviews.list(limit=9, cursor=None),
        "ix_outbox_endpoint_due": lambda: outbox.claim(limit=1, lease_s=1, endpoint_id=TILL),
        first_of_order: lambda: outbox.claim(limit=1, lease_s=1, endpoint_id=TILL),
        "ix_outbox_waiting": lambda: outbox.list(dead=False, limit=9),
        "ix_outbox_dead": lambda: outbox.list(dead=True, limit=9),
        "ix_orders_status_listing": orders.counts,
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
def test_statistics_use_time_indexes(database: Database) -> None:
    with asked() as statements:
        decided(database, "main", 24)
        order_statistics(database, "main", 24, "UTC")
    with database.read() as session:
        found = plans(session, statements)
    assert found
    by_time = ("ix_review_records_decided", "ix_orders_shop_listing")
    assert all(any(index in plan for index in by_time) for plan in found)
    assert not [plan for plan in found if "SCAN review" in plan or "SCAN order" in plan]
