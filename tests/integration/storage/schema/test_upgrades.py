"""Tables of an older and of a later release; migrations beside readers and writers, cut off, run again."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import Result
from sqlalchemy import text
from structlog.testing import capture_logs
from typer.testing import CliRunner

import services.cli.client
import services.cli.commands.migrate
import services.cli.main
from infra.processes.ports import any_free
from infra.settings import Settings
from infra.sql import migrating
from infra.sql.database import Database, DatabaseUnavailable
from infra.sql.prepare import prepare
from infra.sql.revisions import Standing, TablesTooNew, TablesTooOld, known
from schemas.transcript import Transcript
from services.storage.base.records import NewOrder
from services.storage.orders.store import OrderStore
from services.workers.stack import as_environment
from tests.processes.later_release import LATER, later_release
from tests.waiting import until

NEW = NewOrder("cafe", 1, "en", transcript=Transcript(text="tea", confidence=1))
TIP = 'steps.add_column("orders", sa.Column("tip", sa.BigInteger))'
INDEX = 'steps.add_index("ix_orders_tip", "orders", ["tip"])'
HEAD = known()[-1]


@pytest.fixture
def empty(empty_url: str) -> Iterator[Database]:
    made = Database(empty_url)
    yield made
    made.close()


@pytest.fixture
def server(postgresql: Any) -> Iterator[Database]:
    """Migrated, on PostgreSQL, and the test's own: its tables are changed."""
    made = Database(postgresql.create(f"upgrades_{time.monotonic_ns()}"))
    made.migrate()
    yield made
    made.close()


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrating, "LOCK_TIMEOUT_MS", 100)
    monkeypatch.setattr(migrating, "PAUSE_S", (0.1, 0.2))


def columns(database: Database, table: str = "orders") -> set[str]:
    query = "SELECT * FROM " + table
    with database.read() as session:
        return set(session.execute(text(query)).keys())


def test_from_nothing_to_the_newest_and_no_further(empty: Database) -> None:
    assert empty.standing() == Standing("", "older")
    assert empty.migrate() == ("", HEAD)
    assert empty.standing() == Standing(HEAD, "current")
    assert empty.migrate() == (HEAD, HEAD)


def test_a_later_release_that_serves_us_is_left_as_it_is(empty: Database, tmp_path: Path) -> None:
    empty.migrate()
    with later_release(tmp_path, f"{TIP}\n{INDEX}"):
        assert empty.migrate() == (HEAD, LATER)
    with capture_logs() as told:
        assert empty.migrate() == (LATER, LATER)
        prepare(empty, at_start=False, await_s=0)
    assert [one["event"] for one in told] == ["database.newer", "database.newer"]
    assert empty.standing() == Standing(LATER, "newer")
    assert "tip" in columns(empty)
    order, _ = OrderStore(empty, "main").create(NEW)
    assert OrderStore(empty, "main").page(status=None, cursor=None, limit=5)[0] == [order]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_one_that_takes_away_keeps_us_out(database: Database, tmp_path: Path) -> None:
    """The expansion alone served us, and the contraction after it serves the release of the expansion."""
    with later_release(tmp_path, TIP):
        database.migrate()
        with later_release(tmp_path, "pass", revision="9002", serves_from=LATER):
            database.migrate()
        assert database.standing() == Standing("9002", "newer")
    for ask in (database.migrate, lambda: prepare(database, at_start=False)):
        with pytest.raises(TablesTooNew, match=f"9002, and this release ends at {HEAD}"):
            ask()


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_revision_that_nobody_has_written_down_keeps_us_out(database: Database) -> None:
    with database.write() as session:
        session.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(TablesTooNew):
        database.migrate()


@pytest.mark.parametrize("empty_url", ["sqlite"], indirect=True)
def test_who_comes_too_early_waits_or_says_what_to_do(empty: Database) -> None:
    empty.migrate("0012")
    with pytest.raises(TablesTooOld, match=f"at 0012, and this release needs {HEAD}") as refused:
        prepare(empty, at_start=False, await_s=0)
    assert "saycart migrate" in refused.value.hint
    with pytest.raises(TablesTooOld):  # told to stop meanwhile
        prepare(empty, at_start=False, pause=lambda _: True)
    pauses: list[float] = []

    def meanwhile(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            empty.migrate()

    with capture_logs() as told:
        prepare(empty, at_start=False, pause=meanwhile)
    assert len(pauses) == 3
    assert [one["event"] for one in told] == ["database.too_old"]


@pytest.fixture
def saycart(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """`saycart` with these words, in this process, for these settings."""

    def run(settings: Settings, *words: str) -> Result:
        for command in (services.cli.commands.migrate, services.cli.client):
            monkeypatch.setattr(command, "settings", lambda: settings)
        return CliRunner().invoke(services.cli.main.app, words, env={"COLUMNS": "200"})

    return run


def test_the_job_and_an_api_that_waits_for_it(tmp_path: Path, saycart: Callable[..., Result]) -> None:
    settings = Settings(
        home=tmp_path, api_port=any_free(), redis_url="redis://127.0.0.1:1/0", migrate_at_start=False
    )
    log = tmp_path / "api.log"
    with log.open("wb") as output:
        api = subprocess.Popen(
            [sys.executable, "-m", "services.api"],
            env=os.environ | as_environment(settings),
            stdout=output,
            stderr=output,
        )
    try:
        needed = saycart(settings, "migrate", "--check")
        assert (needed.exit_code, "is needed" in needed.output) == (3, True), needed.output
        refused = saycart(settings, "shops", "list")
        assert (refused.exit_code, "saycart migrate" in refused.output) == (1, True), refused.output
        until(lambda: b"database.too_old" in log.read_bytes(), 30)
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"http://127.0.0.1:{settings.api_port}/livez", trust_env=False)
        assert f"went from none to {HEAD}" in saycart(settings, "migrate").output
        assert saycart(settings, "migrate", "--check").exit_code == 0
        until(lambda: answers(f"http://127.0.0.1:{settings.api_port}/livez"), 30)
    finally:
        api.terminate()
        api.wait(30)


def answers(url: str) -> bool:
    try:
        return httpx.get(url, trust_env=False).status_code == 200
    except httpx.HTTPError:
        return False


@contextmanager
def holding(database: Database, statement: str) -> Iterator[None]:
    """A transaction of somebody else's, which has run a statement and not ended."""
    with database.read() as session:
        session.execute(text(statement))
        yield


@contextmanager
def migration(
    database: Database, folder: Path, steps: str
) -> Iterator[Callable[[], Future[tuple[str, str]]]]:
    """Gives what starts a later release's migration, in a thread."""
    with later_release(folder, steps), ThreadPoolExecutor(1) as pool:
        yield lambda: pool.submit(database.migrate)


def index_is_valid(database: Database) -> bool | None:
    query = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('ix_orders_tip')"
    with database.read() as session:
        return session.execute(text(query)).scalar_one_or_none()


def waits(told: list[Any]) -> int:
    return sum(one["event"] == "database.migration_waits" for one in told)


def test_a_migration_that_has_to_wait_keeps_nobody_waiting(server: Database, tmp_path: Path) -> None:
    """A long transaction holds the table. Whoever comes after a waiting ALTER TABLE would stand behind it."""
    orders = OrderStore(server, "main")
    with migration(server, tmp_path, TIP) as start, capture_logs() as told:
        with holding(server, "SELECT count(*) FROM orders"):
            job = start()
            until(lambda: waits(told) >= 2, 30)
            for _ in range(20):
                orders.get(orders.create(NEW)[0].id)
            assert not job.done()
        assert job.result(60) == (HEAD, LATER)
    assert "tip" in columns(server)


def test_an_index_is_made_beside_readers_and_writers_and_again_after_a_kill(
    server: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders = OrderStore(server, "main")
    with migration(server, tmp_path, f"{TIP}\n{INDEX}") as start:
        # CONCURRENTLY waits for every transaction that was there before it: so it is held in the middle.
        with holding(server, "SELECT count(*) FROM menus"):
            job = start()
            until(lambda: index_is_valid(server) is False, 30)
            for _ in range(5):
                orders.get(orders.create(NEW)[0].id)
            monkeypatch.setattr(migrating, "MIGRATE_S", 0.3)
            with pytest.raises(DatabaseUnavailable, match="another process migrates"):
                server.migrate()
            assert not job.done()
            with server.glance() as session:
                killed = (
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'CREATE INDEX%'"
                )
                assert session.scalar(text(killed))
            with pytest.raises(DatabaseUnavailable):
                job.result(60)
        assert index_is_valid(server) is False
        assert server.standing() == Standing(HEAD, "older")
        assert start().result(60) == (HEAD, LATER)
    assert index_is_valid(server)


def test_a_constraint_is_checked_without_a_lock_that_keeps_writers_out(
    server: Database, tmp_path: Path
) -> None:
    OrderStore(server, "main").create(NEW)
    with later_release(tmp_path, 'steps.add_check("counted", "orders", "version > 0")'):
        server.migrate()
    checked = "SELECT convalidated FROM pg_constraint WHERE conname = 'counted'"
    with server.read() as session:
        assert session.scalar(text(checked))
