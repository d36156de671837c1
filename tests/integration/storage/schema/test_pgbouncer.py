"""Behind a real PgBouncer in `transaction` mode: two sessions for everybody, so that what one transaction
leaves in its session is met by the next of another thread."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import text

from infra.settings import Settings
from infra.sql.database import Database, DatabaseUnavailable
from infra.sql.notices import PolledNotices, PostgresqlNotices, notices
from services.storage.orders.watched import CHANNEL
from tests.integration.api_world import running
from tests.integration.storage import test_notices

# What holds of the stores holds behind it: their own tests, on this module's `database`.
from tests.integration.storage.audit.test_audit import test_many_writers_leave_no_gaps  # noqa: F401
from tests.integration.storage.schema.test_storage_database import (  # noqa: F401
    test_a_cut_connection_heals,
    test_migrations_make_the_tables,
    test_reads_do_not_write,
    test_times_come_back_in_utc,
    test_writers_wait_for_each_other,
)
from tests.integration.storage.test_outbox import (  # noqa: F401
    orders,
    outbox,
    test_a_later_message_waits_for_the_earlier_ones_of_its_order,
)
from tests.integration.storage.test_storage_orders import (  # noqa: F401
    test_a_key_makes_one_order,
    test_a_nul_is_the_callers_mistake,
    test_commit_fills_merges_and_gives_the_lease_back,
    test_due_finds_what_nobody_holds,
    test_one_of_sixteen_claims_wins,
    test_one_of_sixteen_commits_wins,
    test_what_was_stored_comes_back,
)
from tests.integration.storage.test_storage_reviews import (  # noqa: F401
    doubt,
    reviews,
    test_decide_moves_the_order_too,
    test_one_of_sixteen_decisions_wins,
)
from tests.servers.pgbouncer import PROGRAM, PgBouncer
from tests.servers.postgresql import PostgreSQL

pytestmark = pytest.mark.skipif(not PROGRAM, reason="no pgbouncer here: apt-get install pgbouncer")

SHOWN = (
    "transaction_isolation",
    "transaction_read_only",
    "lock_timeout",
    "idle_in_transaction_session_timeout",
)
HOLD = """
import sys, time
from infra.sql.database import Database
with Database(sys.argv[1], pooled=True).try_lock("t") as held:
    print(held, flush=True)
    time.sleep(60)
"""


@pytest.fixture(scope="module")
def bouncer(postgresql: PostgreSQL) -> Iterator[PgBouncer]:
    made = PgBouncer(postgresql)
    yield made
    made.stop()


@pytest.fixture
def direct_url(postgresql: PostgreSQL, migrated_postgresql: str) -> str:
    postgresql.empty(migrated_postgresql)
    return postgresql.url(migrated_postgresql)


@pytest.fixture
def database_url(bouncer: PgBouncer, direct_url: str, migrated_postgresql: str) -> str:
    return bouncer.url(migrated_postgresql)


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    made = Database(database_url, pooled=True)
    yield made.everywhere()
    made.close()


def shown(session: Any) -> tuple[Any, ...]:
    return tuple(session.execute(text(f"SHOW {name}")).scalar_one() for name in SHOWN)


def test_unsaid_it_is_refused(database_url: str) -> None:
    with pytest.raises(DatabaseUnavailable, match="SAYCART_DATABASE_POOLER"):
        Database(database_url).ping()


def test_one_that_overlooks_what_it_does_not_know_is_refused_too(
    postgresql: PostgreSQL, migrated_postgresql: str
) -> None:
    lax = PgBouncer(postgresql, "ignore_startup_parameters = options")
    try:
        database = Database(lax.url(migrated_postgresql))
        for _ in range(2):
            with pytest.raises(DatabaseUnavailable, match="SAYCART_DATABASE_POOLER"):
                database.ping()
        database.close()
    finally:
        lax.stop()


def test_an_order_by_the_api(tmp_path: Path, database_url: str) -> None:
    with running(tmp_path, database_url, database_pooler="transaction") as api:
        order = api.text()
        path = f"/v1/orders/{order['id']}"
        assert api.http.post(f"{path}/cancel").status_code == 200
        assert api.http.get(path, params={"wait": 5}).json()["status"] == "cancelled"


def test_each_transaction_is_what_it_should_be(database: Database) -> None:
    """As the server has it, and not as the driver believes."""
    for _ in range(3):
        with database.read() as session:
            assert shown(session) == ("repeatable read", "on", "10s", "1min")
        with database.write() as session:
            assert shown(session) == ("read committed", "off", "10s", "1min")
        with database.glance() as session:
            assert shown(session) == ("read committed", "off", "0", "0"), "nothing is left in a session"


def test_a_read_is_one_snapshot(database: Database, direct_url: str) -> None:
    with database.read() as session, psycopg.connect(direct_url.replace("+psycopg", "")) as other:
        count = text("SELECT count(*) FROM shops")
        before = session.execute(count).scalar_one()
        other.execute("INSERT INTO shops SELECT 'x' || id, name, created_at FROM shops")
        other.commit()
        assert session.execute(count).scalar_one() == before


def test_a_lock_over_many_transactions(
    database: Database, database_url: str, race: Callable[..., Any]
) -> None:
    other = Database(database_url, pooled=True)
    for _ in range(30):
        with database.try_lock("t") as mine, other.try_lock("t") as theirs:
            assert (mine, theirs) == (True, False)
            other.ping()
            database.ping()
    entered: list[int] = []

    def enter(number: int) -> None:
        with Database(database_url, pooled=True).try_lock("t") as held:
            if held:
                entered.append(number)
                time.sleep(0.2)
                assert entered == [number]

    assert race(6, enter) == [None] * 6
    assert len(entered) == 1
    other.close()


def test_a_lock_is_free_when_its_holder_dies(database: Database, database_url: str) -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLD, database_url], stdout=subprocess.PIPE)
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"True\n"
    with database.try_lock("t") as held:
        assert not held
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    for _ in range(100):
        with database.try_lock("t") as held:
            if held:
                return
        time.sleep(0.05)
    raise AssertionError("still taken")


def test_migrations_go_through_it(bouncer: PgBouncer, postgresql: PostgreSQL) -> None:
    postgresql.create("past_pooler")
    through = Database(bouncer.url("past_pooler"), pooled=True)
    first, last = through.migrate()
    assert (first, through.migrate()) == ("", (last, last))
    through.close()


def test_settings_say_it(tmp_path: Path, database_url: str, direct_url: str) -> None:
    config = Settings(home=tmp_path, database_url=database_url, database_pooler="transaction")
    alone = Database.of(config)
    alone.ping()
    assert isinstance(notices(alone.session_url, CHANNEL), PolledNotices)
    both = Database.of(config.model_copy(update={"database_direct_url": direct_url}))
    assert isinstance(notices(both.session_url, CHANNEL), PostgresqlNotices)
    heard = test_notices.heard_of(notices(alone.session_url, CHANNEL), lambda: time.sleep(0.5))
    assert heard[1] == {None}
    alone.close()
    both.close()


def test_nobody_waits_and_nothing_is_polled() -> None:
    heard: list[str | None] = []
    with pytest.raises(TimeoutError):
        asyncio.run(asyncio.wait_for(PolledNotices(0.01).run(heard.append, asyncio.Event()), 0.1))
    assert heard == []
