"""Events on PostgreSQL lie in partitions by the week of their order: made ahead, dropped empty, held."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import text
from sqlalchemy.engine import Connection
from sqlalchemy.orm import Session
from structlog.testing import capture_logs

from infra.sql.database import Database
from infra.sql.revisions import MIGRATIONS
from schemas.lifecycle import Event
from schemas.shops.access import EVERY_SHOP
from schemas.transcript import Transcript
from services.storage.base.ids import first_id, new_id
from services.storage.base.records import NewOrder, Outcome
from services.storage.counts import folding
from services.storage.orders import event_weeks
from services.storage.orders.event_weeks import EventWeeks
from services.storage.orders.store import OrderStore
from services.storage.privacy.retention import RetentionStore
from tests.servers.postgresql import PostgreSQL

TYPED = NewOrder("cafe", 1, "en", transcript=Transcript(text="a latte", confidence=1.0))
BEFORE = "0019"
PLACES = "SELECT order_id, tableoid::regclass::text FROM order_events"
BOUND = f"order_events_{datetime.now(UTC) + timedelta(days=7):%Y%m%d}"
"""A week later than this is none of the migration's."""


@pytest.fixture(scope="module")
def template(postgresql: PostgreSQL) -> str:
    """A database at the revision before, to be copied: quicker than to migrate each."""
    database = Database(postgresql.create("weeks"))
    database.migrate(BEFORE)
    database.close()
    return "weeks"


@pytest.fixture
def old(postgresql: PostgreSQL, template: str) -> Iterator[Database]:
    """A database of the test's own at the revision before, for all shops."""
    database = Database(postgresql.copied(template, f"weeks_{time.monotonic_ns()}"))
    yield database.everywhere()
    database.close()


@pytest.fixture
def database(old: Database) -> Database:
    """Likewise, migrated."""
    old.migrate()
    return old


def ordered(database: Database, ago: timedelta = timedelta()) -> str:
    """An order that came and ended so long ago, by its id and by its rows."""
    came = datetime.now(UTC) - ago
    order_id = first_id("ord", came) + new_id("x")[-16:]
    order, _ = OrderStore(database, "main").create(TYPED, order_id=order_id)
    OrderStore(database, "main").commit(order, Outcome(Event.CANCELLED))
    with database.write() as session:
        for table in ("orders SET created_at = :came, updated_at = :came WHERE id = :id",
                      "order_events SET at = :came WHERE order_id = :id"):  # fmt: skip
            session.execute(text(f"UPDATE {table}"), {"came": came, "id": order_id})
    return order_id


def places(database: Database) -> dict[str, str]:
    """In which partition each order's events are."""
    with database.read() as session:
        return {order_id: place for order_id, place in session.execute(text(PLACES))}


def asked(database: Database, query: str) -> Any:
    with database.read() as session:
        return session.scalar(text(query))


def back(database: Database) -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    with database._engine.connect() as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, BEFORE)
        connection.commit()
        connection.invalidate()


def at(now: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Database, "now", lambda *_: now)


def file_of(session: Session, table: str) -> Any:
    return session.scalar(text(f"SELECT pg_relation_filenode('{table}')"))


def test_the_table_of_before_is_taken_as_it_lies(old: Database) -> None:
    database, first = old, ordered(old, timedelta(days=40))
    with database.write() as session:
        session.execute(text("GRANT SELECT ON order_events TO pg_monitor"))
        # Of a run that was killed in an earlier week: it would refuse orders from then on.
        session.execute(text("ALTER TABLE order_events ADD CONSTRAINT order_events_before CHECK (true)"))
        file = file_of(session, "order_events")
    database.migrate()
    new = ordered(database)
    assert places(database) == {first: "order_events_before", new: "order_events_before"}
    with database.read() as session:
        assert file_of(session, "order_events_before") == file, "no row was written anew"
    assert [event.type for event in OrderStore(database, "main").events(first)] == [
        "received",
        "transcribed",
        "cancelled",
    ]
    assert database.row_security().open == (), "as it was enforced before"
    assert asked(database, "SELECT has_table_privilege('pg_monitor', 'order_events', 'SELECT')")
    assert not asked(database, "SELECT count(*) FROM pg_constraint WHERE conname = 'order_events_before'")
    assert asked(database, "SELECT bool_and(convalidated) FROM pg_constraint WHERE contype = 'f'")


def test_ids_that_are_not_ours_go_to_the_rest(old: Database) -> None:
    database, first = old, ordered(old)
    with database.write() as session:
        for table, key in (("orders", "id"), ("order_events", "order_id")):
            columns = session.execute(text(f"SELECT * FROM {table} LIMIT 0"))
            names = [column for column in columns.keys() if column != key]  # noqa: SIM118 (of a result)
            listed = ", ".join(f'"{name}"' for name in names)
            session.execute(
                text(f"INSERT INTO {table} ({key}, {listed}) SELECT 'ord_zz', {listed} FROM {table}")
            )
    database.migrate()
    assert places(database) == {first: "order_events_before", "ord_zz": "order_events_rest"}


def test_weeks_are_there_before_their_orders_and_an_event_always_has_a_place(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    weeks = EventWeeks(database)
    assert weeks.keep() >= 2
    assert weeks.keep() == 0
    parts = weeks.parts()
    assert [part.beyond for part in parts][:-1] == [part.first for part in parts][1:]
    far = ordered(database, -timedelta(days=21))
    beyond = ordered(database, -timedelta(days=90))
    assert places(database)[far] > BOUND
    assert places(database)[beyond] == "order_events_rest"
    # No sweeper for a quarter: the week of what is in the rest can't be made, the next ones can.
    at(datetime.now(UTC) + timedelta(days=90), monkeypatch)
    with capture_logs() as told:
        weeks.keep()
    assert sum(part.first > beyond for part in weeks.parts()) == event_weeks.AHEAD
    (waits,) = [one for one in told if one["event"] == "events.week_waits"]
    assert "order_events_rest" in waits["error"]
    assert len(OrderStore(database, "main").events(beyond)) == 3


def test_a_week_is_dropped_once_retention_has_taken_its_orders(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    weeks, now = EventWeeks(database), datetime.now(UTC)
    weeks.keep()
    first, second = (ordered(database, -timedelta(days=days)) for days in (14, 21))
    of_first, of_second = places(database)[first], places(database)[second]
    at(now + timedelta(days=50), monkeypatch)
    weeks.keep()
    there = {part.name for part in weeks.parts()}
    assert "order_events_before" not in there, "nothing was in it"
    assert {of_first, of_second} <= there
    monkeypatch.setattr(folding, "mark", lambda *_: now + timedelta(days=60))
    assert RetentionStore(database, "main").orders(timedelta(days=33) / timedelta(seconds=1)) == 1
    assert weeks.keep() == 1
    assert places(database) == {second: of_second}
    assert of_first not in {part.name for part in weeks.parts()}


@contextmanager
def reader(database: Database) -> Iterator[Connection]:
    """Somebody in the middle of a transaction that has looked at all events."""
    with database.read() as session:
        session.execute(text(PLACES))
        yield session.connection()


def test_who_reads_is_not_waited_for_long_and_nothing_is_lost_by_it(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    weeks = EventWeeks(database)
    weeks.keep()
    with reader(database), capture_logs() as told:
        at(datetime.now(UTC) + timedelta(days=30), monkeypatch)
        made_meanwhile = weeks.keep()
    waits = [one["week"] for one in told if one["event"] == "events.week_waits"]
    assert "order_events_before" in waits
    assert made_meanwhile == 0
    assert weeks.keep() == len(waits)


def test_an_order_that_came_after_the_look_keeps_its_week(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = ordered(database)
    monkeypatch.setattr(event_weeks, "_is_empty", lambda *_: True)
    at(datetime.now(UTC) + timedelta(days=30), monkeypatch)
    EventWeeks(database).keep()
    assert places(database) == {order: "order_events_before"}
    assert asked(database.bound("b"), "SELECT count(*) FROM order_events") == 0


def test_partitions_are_held_too(database: Database) -> None:
    EventWeeks(database).keep()
    orders = [ordered(database, -timedelta(days=days)) for days in (0, 14, 90)]
    found = places(database)
    assert len(set(found.values())) == 3
    assert found.keys() == set(orders)
    held = database.row_security().held
    assert {"order_events", *(part.name for part in EventWeeks(database).parts())} <= set(held)
    for shop, seen in (("main", 3), ("b", 0)):
        assert asked(database.bound(shop), "SELECT count(DISTINCT order_id) FROM order_events") == seen
    for place in found.values():
        assert asked(database, f"SELECT count(*) FROM {place}") == 3
        assert asked(database.bound("b"), f"SELECT count(*) FROM {place}") == 0
    assert OrderStore(database, EVERY_SHOP).event_counts() == {
        "received": 3,
        "transcribed": 3,
        "cancelled": 3,
    }


def test_the_way_back_has_every_event(database: Database) -> None:
    weeks, store = EventWeeks(database), OrderStore(database, "main")
    weeks.keep()
    orders = [ordered(database, -timedelta(days=days)) for days in (0, 14, 90)]
    for without in ("", "order_events_before"):
        if without:
            with database.write() as session:
                session.execute(text(f"DROP TABLE {without}"))
            orders = orders[1:]
        back(database)
        assert asked(database, "SELECT relkind FROM pg_class WHERE oid = 'order_events'::regclass") == "r"
        assert {order: len(store.events(order)) for order in orders} == dict.fromkeys(orders, 3)
        assert asked(database.bound("b"), "SELECT count(*) FROM order_events") == 0
        database.migrate()
        weeks.keep()
        assert sorted(places(database)) == sorted(orders)
