"""Missing tables, tables of a later release, and migrations by several processes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import httpx
import psycopg
import pytest
from click.testing import Result
from sqlalchemy import text
from structlog.testing import capture_logs
from typer.testing import CliRunner

import services.cli.client
import services.cli.commands.migrate
import services.cli.main
from infra.processes.ports import any_free
from infra.settings import REPOSITORY, Settings
from infra.sql import migrating
from infra.sql.database import Database
from infra.sql.prepare import prepare
from schemas.errors import InputError, StorageUnavailable
from tests.processes.parts import program
from tests.servers.postgresql import PostgreSQL
from tests.waiting import answers, until

HEAD = migrating.known()[-1]


@pytest.fixture
def empty(empty_url: str) -> Iterator[Database]:
    made = Database(empty_url)
    yield made
    made.close()


def test_migrations_run_to_the_newest_version(empty: Database) -> None:
    assert empty.revision() == ""
    assert empty.migrate() == ""
    assert empty.revision() == empty.migrate() == HEAD


def test_tables_of_a_later_release_are_refused(database: Database) -> None:
    with database.write() as session:
        session.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    try:
        for ask in (database.migrate, lambda: prepare(database, at_start=False)):
            with pytest.raises(InputError, match=f"at 9999, and this release ends at {HEAD}") as refused:
                ask()
            assert "Run the newer release" in refused.value.hint
    finally:
        with database.write() as session:
            session.execute(text(f"UPDATE alembic_version SET version_num = '{HEAD}'"))


def test_a_process_waits_for_tables_or_says_what_to_do(empty: Database) -> None:
    with pytest.raises(InputError, match=f"at none, and this release needs {HEAD}") as refused:
        prepare(empty, at_start=False, await_s=0)
    assert "saycart migrate" in refused.value.hint
    with pytest.raises(InputError):  # stopped meanwhile
        prepare(empty, at_start=False, pause=lambda _: True)
    pauses: list[float] = []

    def meanwhile(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            empty.migrate()

    with capture_logs() as logged:
        prepare(empty, at_start=False, pause=meanwhile)
    assert len(pauses) == 3
    assert [one["event"] for one in logged] == ["database.too_old"]


def test_a_concurrent_migration_is_awaited_for_a_limited_time(
    postgresql: PostgreSQL, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Database(postgresql.create("migrated_by_another"))
    monkeypatch.setattr(migrating, "MIGRATE_S", 1)
    with server.write() as session:
        session.execute(text(migrating.LOCK))
        with pytest.raises(StorageUnavailable):
            server.migrate()
    assert server.revision() == server.migrate() == ""
    server.close()


@pytest.fixture
def saycart(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Run `saycart` in process with these settings."""

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
    with program(settings, "-m", "services.api", log=log):
        needed = saycart(settings, "migrate", "--check")
        assert (needed.exit_code, "run `saycart migrate`" in needed.output) == (3, True), needed.output
        refused = saycart(settings, "shops", "list")
        assert (refused.exit_code, "saycart migrate" in refused.output) == (1, True), refused.output
        until(lambda: b"database.too_old" in log.read_bytes(), 30)
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"http://127.0.0.1:{settings.api_port}/livez", trust_env=False)
        assert f"went from none to {HEAD}" in saycart(settings, "migrate").output
        assert saycart(settings, "migrate", "--check").exit_code == 0
        until(lambda: answers(f"http://127.0.0.1:{settings.api_port}/livez"), 30)


def test_the_role_of_the_guides_step_three_makes_the_tables_and_is_held_to_a_shop(
    postgresql: PostgreSQL,
) -> None:
    guide = (REPOSITORY / "docs/operations.md").read_text()
    (commands,) = re.findall(r"psql <<'EOF'\n(.*?)^ *EOF$", guide, re.DOTALL | re.MULTILINE)
    assert commands.count("saycart") == 3
    statements = ["DROP DATABASE IF EXISTS grown", "DROP ROLE IF EXISTS grown"]  # of a first try
    statements += commands.replace("saycart", "grown").split(";")
    with psycopg.connect(f"host={postgresql.home} user=postgres", autocommit=True) as connection:
        for statement in filter(str.strip, statements):
            connection.execute(statement.encode())
    with closing(Database(postgresql.url("grown", role="grown"))) as database:
        database.migrate()
        found = database.row_security()
        assert found.enforced
        assert found.fault is None
