"""Counts that are folded in the background equal a full count, whatever happened, and however far it got."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import event, func, select, update
from sqlalchemy.engine import Engine

from infra.blobs.folder import BlobFolder
from infra.sql.database import Database
from infra.sql.revisions import MIGRATIONS
from schemas.cart import CartDraft
from schemas.errors import Conflict, DecodeTruncated, StaleState
from schemas.lifecycle import WAITING, State
from services.storage.base.tables import CodeRow, EventRow, OrderRow, OutboxRow, TallyMarkRow, TallyRow
from services.storage.counts import folding
from services.storage.counts.tallies import TallyStore
from services.storage.orders.load import LoadStore
from services.storage.outbox.store import Outbox
from tests.stand_ins import AWAY, RIGHT, Works

TELLS = frozenset(
    {"order.completed", "order.rejected", "order.needs_review", "order.failed", "order.cancelled"}
)


class History:
    """Orders that go every way there is, by chance; time passes by moving what happened into the past."""

    def __init__(self, database: Database, folder: Path, seed: int) -> None:
        self.database = database
        self.works = Works(database, BlobFolder(folder / "blobs"))
        self.works.orders._tells = TELLS
        self.tallies, self.outbox = TallyStore(database), Outbox(database)
        self.rng = random.Random(seed)
        self.ids: list[str] = []

    def go_on(self, steps: int) -> None:
        for _ in range(steps):
            act = self.rng.choice(
                [self.order, self.order, self.cancel, self.replay, self.late, self.deliver, self.tell_again]
            )
            try:
                act()
            except (Conflict, StaleState):
                continue

    def order(self) -> None:
        works, rng = self.works, self.rng
        works.decoder.script = rng.choice(
            [[RIGHT], [RIGHT], [CartDraft(lines=())], [DecodeTruncated("length")], [AWAY], [AWAY, RIGHT]]
        )
        order_id = works.typed()
        self.ids.append(order_id)
        if rng.random() < 0.8:
            works.until_settled(order_id)

    def cancel(self) -> None:
        self.works.orders.cancel(self.any())

    def replay(self) -> None:
        self.works.orders.replay(self.any())

    def late(self) -> None:
        """A worker that hangs, while its order is cancelled or taken by another."""
        works, order_id = self.works, self.any()
        state = works.orders.get(order_id).state
        held = works.orders.claim(order_id, state, owner="slow", lease_s=60) if state in WAITING else None
        if held is None:
            return
        works.drop_lease(order_id)
        if self.rng.random() < 0.5:
            works.orders.claim(order_id, held.state, owner="other", lease_s=60)
            works.drop_lease(order_id)
        works.orders.drop(held)

    def deliver(self) -> None:
        for message in self.outbox.claim(owner="c", limit=4, lease_s=60):
            if self.rng.random() < 0.7:
                self.outbox.delivered(message)
            else:
                self.outbox.failed(message, "no", retry_in_s=None)

    def tell_again(self) -> None:
        with self.database.read() as session:
            known = list(session.scalars(select(OutboxRow.id).order_by(OutboxRow.created_at, OutboxRow.seq)))
        if known:
            self.outbox.replay([self.rng.choice(known)])

    def any(self) -> str:
        if not self.ids:
            self.order()
        return self.rng.choice(self.ids)

    def pass_time(self, seconds: float) -> None:
        """Everything happened so much longer ago; the mark stays behind what was folded."""
        with self.database.write() as session:
            for column in (EventRow.at, OutboxRow.delivered_at, TallyMarkRow.until):
                for moment in session.scalars(select(column).where(column.is_not(None)).distinct()).all():
                    earlier = {column.key: moment - timedelta(seconds=seconds)}
                    session.execute(update(column.class_).where(column == moment).values(earlier))

    def check(self) -> None:
        works = self.works
        assert works.orders.counts() == counted_states(self.database)
        assert works.orders.event_counts() == counted(self.database, EventRow.type)
        assert works.orders.code_counts() == counted(self.database, CodeRow.kind, CodeRow.code)
        assert self.outbox.counts() == counted_messages(self.database)


def counted(database: Database, *columns: Any) -> dict[Any, int]:
    """A full count."""
    with database.read() as session:
        rows = session.execute(select(*columns, func.count()).group_by(*columns)).all()
    return {row[0] if len(columns) == 1 else tuple(row[:-1]): row[-1] for row in rows}


def counted_states(database: Database) -> dict[State, int]:
    found = counted(database, OrderRow.state)
    return {state: found.get(state.value, 0) for state in State}


def counted_messages(database: Database) -> dict[str, int]:
    found = counted(database, OutboxRow.delivered_at.is_not(None), OutboxRow.dead_at.is_not(None))
    return {
        "delivered": found.get((True, False), 0),
        "waiting": found.get((False, False), 0),
        "dead": found.get((False, True), 0),
        "withdrawn": 0,
    }


def folded(database: Database) -> int:
    with database.read() as session:
        return session.scalar(select(func.sum(TallyRow.count)).where(TallyRow.kind == "event")) or 0


@pytest.fixture
def history(database: Database, tmp_path: Path, request: pytest.FixtureRequest) -> History:
    return History(database, tmp_path, getattr(request, "param", 0))


@pytest.mark.parametrize("history", [1, 2], indirect=True)
def test_the_numbers_equal_a_full_count_however_far_they_are_folded(history: History) -> None:
    for limit in (1, 7, 1000, 3):
        history.go_on(12)
        history.check()
        assert history.tallies.fold(limit) == 0 or limit != 1, "nothing is old enough at first"
        history.pass_time(folding.LAG_S + 1)
        history.check()
        for _ in range(3):
            history.tallies.fold(limit)
            history.check()
        history.go_on(6)
        history.check()
    history.pass_time(folding.LAG_S + 1)
    while history.tallies.fold(5):
        history.check()
    history.outbox.forget(0.0)
    history.check()
    assert folded(history.database) == sum(counted(history.database, EventRow.type).values())
    assert history.outbox.counts()["delivered"] == 0


def test_what_is_cut_off_in_the_middle_is_folded_once(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    history.go_on(15)
    history.pass_time(folding.LAG_S + 1)

    def cut(*_: Any) -> Any:
        raise RuntimeError

    for broken in ("_advance", "add"):
        with monkeypatch.context() as patch:
            patch.setattr(folding, broken, cut)
            with pytest.raises(RuntimeError):
                history.tallies.fold(5)
        history.check()
        assert folded(history.database) == 0
    while history.tallies.fold(5):
        history.check()
    assert folded(history.database) > 0


def test_many_fold_at_once(history: History, race: Callable[..., list[Any]]) -> None:
    history.go_on(20)
    history.pass_time(folding.LAG_S + 1)
    rows = race(6, lambda _: sum(iter(lambda: history.tallies.fold(3), 0)))
    assert not [one for one in rows if isinstance(one, Exception)]
    history.check()
    assert folded(history.database) == sum(counted(history.database, EventRow.type).values())


def test_a_moment_with_more_rows_than_a_step_is_folded_whole(history: History) -> None:
    history.go_on(10)
    history.pass_time(folding.LAG_S + 1)
    with history.database.write() as session:
        same = session.scalar(select(func.min(EventRow.at)))
        for one in session.scalars(select(EventRow)):
            one.at = same
    while history.tallies.fold(2):
        history.check()
    assert folded(history.database) == sum(counted(history.database, EventRow.type).values())


def test_what_just_happened_waits(history: History) -> None:
    history.go_on(10)
    assert history.tallies.fold() == 0
    history.pass_time(folding.LAG_S - 5)
    assert history.tallies.fold() == 0
    history.pass_time(6)
    assert history.tallies.fold() > 0


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)  # SQLite has one writer at a time
def test_a_transaction_that_hangs_for_longer_than_the_lag_is_counted(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its rows carry the time at which it began, and turn up behind rows that are younger."""
    history = History(database, tmp_path, 0)
    order_id = history.works.typed()
    monkeypatch.setattr(folding, "LAG_S", 0.0)
    with database.write() as session:
        now = database.now(session)
        late = EventRow(order_id=order_id, seq=99, at=now, type="late", state="x", detail={})
        session.add(late)
        session.flush()
        history.works.typed()
        while history.tallies.fold():
            pass
    history.works.typed()
    while history.tallies.fold():
        pass
    history.check()
    assert history.works.orders.event_counts()["late"] == 1
    assert folded(database) == sum(counted(database, EventRow.type).values())


def test_codes_without_an_event_are_those_of_leases(history: History) -> None:
    """Only they are counted live: a new kind that comes without an event has to be named there."""
    history.go_on(60)
    with history.database.read() as session:
        its = select(EventRow.seq).where(EventRow.order_id == CodeRow.order_id, EventRow.seq == CodeRow.seq)
        lone = set(session.scalars(select(CodeRow.kind).where(~its.exists())))
    assert lone <= {"dropped", "extra_run"}


def test_one_more_fold_of_nothing_writes_nothing(history: History) -> None:
    history.go_on(5)
    history.pass_time(folding.LAG_S + 1)
    while history.tallies.fold():
        pass
    with history.database.read() as session:
        before = dict(session.execute(select(TallyMarkRow.name, TallyMarkRow.until)).all())
    assert history.tallies.fold() == 0
    with history.database.read() as session:
        assert dict(session.execute(select(TallyMarkRow.name, TallyMarkRow.until)).all()) == before


@contextmanager
def plans(database: Database) -> Iterator[list[tuple[str, str]]]:
    """Each select of the block on SQLite, and each step of its plan; filled in at the end of the block."""
    asked: list[tuple[str, Any]] = []
    found: list[tuple[str, str]] = []

    def note(_connection: Any, _cursor: Any, statement: str, values: Any, *_: Any) -> None:
        if statement.startswith("SELECT") and "FROM" in statement:
            asked.append((statement, values))

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield found
    finally:
        event.remove(Engine, "before_cursor_execute", note)
    with database.read() as session:
        for statement, values in asked:
            plan = session.connection().exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values)
            found += [(statement, str(step[-1])) for step in plan]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)  # whose plans do not go by sizes
def test_neither_a_scrape_nor_a_fold_goes_through_a_whole_table(history: History) -> None:
    history.go_on(10)
    history.pass_time(folding.LAG_S + 1)
    orders, load = history.works.orders, LoadStore(history.database)
    with plans(history.database) as steps:
        while history.tallies.fold(5):
            pass
        for ask in (orders.counts, orders.event_counts, orders.code_counts, history.outbox.counts, load.load):
            ask()
    assert len(steps) > 20
    # Nor through an index, but for those that hold what waits, is dead, or is of a later release.
    small = ("waiting_clients", "other_shops", "first", "dead", "endpoint_due")
    scans = {step[1].removeprefix("SCAN ") for step in steps if step[1].startswith("SCAN")} - {"tallies"}
    assert {scan.rpartition(" INDEX ix_")[2].partition("_")[2] for scan in scans} <= set(small), scans


def test_what_was_there_before_the_tallies_is_folded_by_the_migration(history: History) -> None:
    history.go_on(40)
    history.deliver()
    history.pass_time(folding.LAG_S - 20)
    history.go_on(5)
    history.pass_time(21)
    history.go_on(5)
    history.check()
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    with history.database.write() as session:
        before = session.scalar(select(func.count()).select_from(EventRow))
    with history.database._engine.connect() as connection:
        if history.database.is_sqlite:
            connection.exec_driver_sql("PRAGMA foreign_keys = OFF")
            connection.commit()
        config.attributes["connection"] = connection
        if history.database.is_sqlite:
            with connection.begin():
                command.downgrade(config, "0004")
        else:  # where each step is a transaction of its own
            command.downgrade(config, "0004")
            connection.commit()
        connection.invalidate()
    history.database.migrate()
    assert 0 < folded(history.database) < (before or 0), "the last minute stays to be counted"
    history.check()
    history.pass_time(folding.LAG_S + 1)
    while history.tallies.fold(5):
        history.check()
    assert folded(history.database) == before
