"""Fixtures for tests of storage: the command line in process, and orders with a marker word."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from infra.processes.ports import any_free
from infra.settings import Settings
from infra.sql.database import Database
from services.cli import client
from services.cli.main import app
from services.storage.orders.store import OrderStore
from services.storage.outbox.store import Outbox
from tests.endpoints import till
from tests.integration.api_world import running
from tests.integration.marked import TELLS, Marked
from tests.stand_ins import Pipeline


@pytest.fixture
def saycart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, database_url: str) -> Callable[..., Result]:
    """Run `saycart` in process with these settings, without a broker."""

    def run(*words: str, **settings: str) -> Result:
        settings = {"redis_url": f"redis://127.0.0.1:{any_free()}/0", **settings}
        config = Settings(home=tmp_path / "home", database_url=database_url, **settings)
        monkeypatch.setattr(client, "settings", lambda: config)
        return CliRunner().invoke(app, list(words), env={"COLUMNS": "250"})

    return run


@pytest.fixture
def orders(database: Database) -> OrderStore:
    return OrderStore(database, "main")


@pytest.fixture
def world(pipeline: Pipeline) -> Pipeline:
    return pipeline


@pytest.fixture
def outbox(database: Database) -> Outbox:
    till(database)
    return Outbox(database)


@pytest.fixture
def marked(tmp_path: Path, database_url: str) -> Iterator[Marked]:
    with running(tmp_path, database_url, **TELLS) as world:
        yield Marked.of(world)
