"""The audit log: append-only, without gaps, in the transaction of the act."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import timedelta
from typing import Any
from unittest.mock import Mock

import pytest
from sqlalchemy import select, text
from sqlalchemy.exc import IntegrityError

from infra.sql.database import Database
from schemas.errors import InputError
from schemas.menu import Menu
from schemas.shops.audit import Entry
from services.storage.audit import log as module
from services.storage.audit.log import AuditLog, record
from services.storage.base.changes import writing
from services.storage.base.tables import MenuRow
from services.storage.base.tables_staff import AuditRow, StaffRow
from services.storage.people.staff import StaffStore
from services.storage.shops.menus import MenuStore
from tests.integration.api_world import MENU
from tests.integration.audit_world import ANN, act, tamper

PASSWORD = "correct horse battery"


def entries(database: Database) -> list[Entry]:
    return list(AuditLog(database).entries())


def test_an_entry_has_actor_action_and_object(database: Database) -> None:
    act(database, 7)
    [entry] = entries(database)
    assert (entry.shop_id, entry.seq) == ("main", 1)
    assert (entry.actor, entry.address, entry.request_id) == (ANN.name, ANN.address, ANN.request_id)
    assert (entry.action, entry.object_type, entry.object_id) == ("price.changed", "menu", "cafe-7")
    assert json.loads(entry.before or "") == {"/items/tea/price": 300}
    assert json.loads(entry.after or "") == {"/items/tea/price": 7}


_ANY = [
    "UPDATE audit_log SET actor = 'staff:bob'",
    "UPDATE audit_log SET actor = 'staff:bob' WHERE seq = 2",
    "DELETE FROM audit_log",
    "DELETE FROM audit_log WHERE seq = 3",
    "INSERT INTO audit_log SELECT * FROM audit_log WHERE seq = 3 "
    "ON CONFLICT (shop_id, seq) DO UPDATE SET actor = 'staff:bob'",
    # A gap, a duplicate number, and a log that does not begin at 1.
    "INSERT INTO audit_log SELECT shop_id, 5, at, actor, address, request_id, action, object_type, "
    "object_id, before, after FROM audit_log WHERE seq = 3",
    "INSERT INTO audit_log SELECT shop_id, 2, at, actor, address, request_id, action, object_type, "
    "object_id, before, after FROM audit_log WHERE seq = 3",
    "INSERT INTO audit_log SELECT 'other', 2, at, actor, address, request_id, action, object_type, "
    "object_id, before, after FROM audit_log WHERE seq = 3",
]
_REFUSED = [
    *(("sqlite", statement) for statement in _ANY),
    # REPLACE deletes the old row without firing DELETE triggers.
    ("sqlite", "REPLACE INTO audit_log SELECT * FROM audit_log WHERE seq = 3"),
    *(("postgresql", statement) for statement in _ANY),
    ("postgresql", "TRUNCATE audit_log"),
]


@pytest.mark.parametrize(("database_url", "statement"), _REFUSED, indirect=["database_url"])
def test_the_database_accepts_only_the_next_entry(database: Database, statement: str) -> None:
    for number in range(3):
        act(database, number)
    before = entries(database)
    with pytest.raises(IntegrityError, match="audit_log"), database.write() as session:
        session.execute(text(statement))
    assert entries(database) == before


def test_an_entry_and_its_act_are_one_transaction(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    menus, staff = MenuStore(database, "main"), StaffStore(database)
    # The act fails after the entry was written ...
    with suppress(InputError), writing(database) as (session, now):
        record(session, now, ANN, "key.added", ("key", "k"), shop="main")
        raise InputError("the act failed")
    assert entries(database) == []

    # ... and the entry after the act.
    broken = Mock(side_effect=RuntimeError("no entry"))
    monkeypatch.setattr("services.storage.shops.menus.record", broken)
    monkeypatch.setattr("services.storage.people.staff.record_account", broken)
    with pytest.raises(RuntimeError):
        menus.put(Menu.parse(MENU), by=ANN)
    with pytest.raises(RuntimeError):
        staff.add("ann", PASSWORD, by=ANN)
    with database.read() as session:
        assert session.scalars(select(MenuRow.id)).all() == session.scalars(select(StaffRow.id)).all() == []


def test_many_writers_leave_no_gaps(database: Database, race: Any) -> None:
    def some(thread: int) -> None:
        for number in range(8):
            act(database, number, shop="other" if thread % 4 == 3 else "main")

    assert race(8, some) == [None] * 8
    heads, faults = AuditLog(database).verify()
    assert ([head.rpartition(":")[0] for head in heads], faults) == (["main:48", "other:16"], [])


def test_listing_entries(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAGE", 2)  # pages start within a shop's log
    for number in range(5):
        act(database, number)
        act(database, number, shop="other")
    with writing(database) as (session, now):
        record(session, now, ANN, "menu.edited", ("menu", "cafe"), shop="main")
    log = AuditLog(database)
    assert [(e.shop_id, e.seq) for e in log.entries()] == [
        *(("main", n) for n in range(1, 7)),
        *(("other", n) for n in range(1, 6)),
    ]
    assert [e.seq for e in log.entries(shop="other")] == [1, 2, 3, 4, 5]
    assert [e.action for e in log.entries(action="menu.edited")] == ["menu.edited"]
    assert [e.action for e in log.newest(50, action="menu")] == ["menu.edited"]
    assert not log.newest(50, action="men")
    assert not log.newest(50, action="menu_")
    newest = log.newest(2, shop="main")
    assert [e.action for e in newest] == ["price.changed", "menu.edited"]
    assert len(log.newest(50, since=now)) >= 1
    assert not log.newest(50, since=now + timedelta(seconds=60))


TAMPERED = [
    *(f"UPDATE audit_log SET {column.name} = 'x' WHERE seq = 3" for column in AuditRow.__table__.columns
      if column.name not in ("seq", "shop_id")),
    "DELETE FROM audit_log WHERE seq > 4",
    "DELETE FROM audit_log",
]  # fmt: skip


@pytest.mark.parametrize("statement", TAMPERED)
def test_a_recorded_head_reveals_changes_and_truncation(database: Database, statement: str) -> None:
    for number in range(6):
        act(database, number)
    log = AuditLog(database)
    noted = log.verify().heads
    act(database, 99)
    assert log.verify(noted).faults == [], "a head stands while the log grows"
    tamper(database, statement)
    assert log.verify().faults == [], "nothing inside can tell"
    assert log.verify(noted).faults == [f"{noted[0]}: an entry up to this head was changed or removed"]


MISSING = [
    ("DELETE FROM audit_log WHERE seq = 1", "main: an entry is missing between 0 and 2"),
    ("DELETE FROM audit_log WHERE seq = 3", "main: an entry is missing between 2 and 4"),
    ("UPDATE audit_log SET seq = 9 WHERE seq = 3", "main: an entry is missing between 2 and 4"),
    ("UPDATE audit_log SET shop_id = 'x' WHERE seq = 3", "main: an entry is missing between 2 and 4"),
]


@pytest.mark.parametrize(("statement", "fault"), MISSING)
def test_a_gap_is_found_without_a_head(database: Database, statement: str, fault: str) -> None:
    for number in range(4):
        act(database, number)
    tamper(database, statement)
    assert AuditLog(database).verify().faults[0] == fault


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("change", ["actor = X'616e6e'", "seq = X'616e6e'", "seq = 4.5"])
def test_changes_that_sqlite_allows_are_found(database: Database, change: str) -> None:
    for number in range(4):
        act(database, number)
    noted = AuditLog(database).verify().heads
    tamper(database, f"UPDATE audit_log SET {change} WHERE seq = 4")
    assert AuditLog(database).verify(noted).faults
