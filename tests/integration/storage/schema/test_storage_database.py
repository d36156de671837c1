"""Migrations, transactions, the clock and outages."""

from __future__ import annotations

import shutil
import socket
import sqlite3
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError, StatementError

from infra.sql import dialects
from infra.sql.database import Database
from schemas.errors import StorageFull, StorageUnavailable
from schemas.records.orders import NewOrder
from schemas.transcript import Transcript
from services.storage.base.table_base import Base
from services.storage.base.tables import MenuRow
from services.storage.orders.store import OrderStore

NEW = NewOrder("cafe", 1, "en", transcript=Transcript(text="tea", confidence=1))
HEADER = {"name": "", "currency": "", "language": "", "items": 0, "sold_out": 0}
MIGRATE = "import sys; from infra.sql.database import Database; Database(sys.argv[1]).migrate()"


def test_migrations_create_the_tables(database: Database) -> None:
    with database.write() as session:
        # Only migrations define indexes; test_growth.py tests their use.
        opts = {"compare_type": True, "include_object": lambda _it, _name, kind, *_: kind != "index"}
        context = MigrationContext.configure(session.connection(), opts=opts)
        assert compare_metadata(context, Base.metadata) == []


def test_processes_migrate_concurrently(empty_url: str) -> None:
    children = [subprocess.Popen([sys.executable, "-c", MIGRATE, empty_url]) for _ in range(2)]
    assert [child.wait(30) for child in children] == [0, 0]
    database = Database(empty_url)
    database.migrate()
    order, _ = OrderStore(database, "main").create(NEW)
    assert OrderStore(database, "main").get(order.id) == order
    database.close()


def test_times_come_back_in_utc(database: Database) -> None:
    moment = datetime(2026, 3, 29, 2, 30, 0, 123456, tzinfo=timezone(timedelta(hours=-7)))
    with database.write() as session:
        row = {"id": "m", "version": 1, "digest": "", "document": {}, **HEADER}
        session.add(MenuRow(shop_id="main", **row, created_at=moment))
    with database.read() as session:
        stored = session.get_one(MenuRow, ("main", "m", 1)).created_at
    assert stored == moment
    assert stored.utcoffset() == timedelta(0)
    with pytest.raises(StatementError, match="without a zone"), database.write() as session:
        session.add(MenuRow(shop_id="main", **row | {"id": "n"}, created_at=datetime(2026, 1, 1)))


@pytest.mark.parametrize(
    "database_url", ["postgresql"], indirect=True
)  # SQLite has no such mode a transaction
def test_reads_do_not_write(database: Database) -> None:
    with pytest.raises(DBAPIError), database.read() as session:
        session.execute(text("DELETE FROM orders"))


def test_sqlite_is_durable(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'deep' / 'new.db'}")
    database.migrate()
    with database.read() as session:
        asked = {
            name: session.execute(text(f"PRAGMA {name}")).scalar_one()
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        }
    assert asked == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 10_000}
    database.close()


@pytest.fixture
def file(migrated_sqlite: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(migrated_sqlite, tmp_path / "own.db"))


def test_a_locked_file_is_unavailable(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dialects, "BUSY_S", 0.2)
    database = Database(f"sqlite:///{file}")
    orders = OrderStore(database, "main")
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StorageUnavailable) as refused:
        orders.create(NEW)
    assert refused.value.retryable
    assert sum(orders.counts().values()) == 0  # reading goes on
    other.execute("ROLLBACK")
    other.close()
    assert orders.create(NEW)[1]
    database.close()


def test_a_full_disk_is_reported(file: Path) -> None:
    database = Database(f"sqlite:///{file}")
    orders = OrderStore(database, "main")
    with database.read() as session:  # the pool hands the same connection out again
        pages = session.execute(text("PRAGMA page_count")).scalar_one()
        session.execute(text(f"PRAGMA max_page_count = {pages + 1}"))
    big = NewOrder("cafe", 1, "en", transcript=Transcript(text="x" * 100_000, confidence=1))
    with pytest.raises(StorageFull):
        orders.create(big)
    assert sum(orders.counts().values()) == 0
    database.close()


def test_a_refused_connection_is_unavailable() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        database = Database(f"postgresql://nobody:secret@127.0.0.1:{unused.getsockname()[1]}/none")
        for ask in (database.ping, database.migrate):
            with pytest.raises(StorageUnavailable):
                ask()
        with pytest.raises(StorageUnavailable) as refused:
            OrderStore(database, "main").get("x")
    assert "127.0.0.1" not in str(refused.value)


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)  # a file has no connection to cut
def test_a_lost_connection_is_replaced(database: Database) -> None:
    orders = OrderStore(database, "main")
    cut = text("SELECT pg_terminate_backend(pg_backend_pid())")
    with pytest.raises(StorageUnavailable), database.read() as session:
        session.execute(cut)
    assert orders.create(NEW)[1]


def test_an_impossible_path_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageUnavailable):
        Database(f"sqlite:///{tmp_path / 'file' / 'x.db'}").migrate()
    with pytest.raises(StorageUnavailable):
        Database(f"sqlite:///{tmp_path / 'none' / 'x.db'}").ping()


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:", "mysql://x/y", "redis://x"])
def test_other_urls_are_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"SQLite needs a file|must begin with"):
        Database(url)
