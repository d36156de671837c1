"""The audit log in storage, on SQLite and on PostgreSQL: append only, gapless, one with the act."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select, text
from sqlalchemy.exc import IntegrityError

from infra.sql.database import Database
from schemas.errors import InputError
from schemas.menu import Menu
from schemas.shops.audit import Entry, Head
from services.storage.audit import log as module
from services.storage.audit.log import AuditLog, record
from services.storage.base.changes import writing
from services.storage.base.tables import MenuRow
from services.storage.base.tables_staff import StaffRow
from services.storage.people.staff import StaffStore
from services.storage.shops.menus import MenuStore
from tests.integration.api_world import MENU
from tests.integration.audit_world import ANN, act, faults

PASSWORD = "correct horse battery"


def entries(database: Database) -> list[Entry]:
    return list(AuditLog(database).entries())


def test_an_entry_says_who_what_and_which(database: Database) -> None:
    act(database, 7)
    [entry] = entries(database)
    assert (entry.shop_id, entry.seq) == ("main", 1)
    assert (entry.actor, entry.address, entry.request_id) == (ANN.name, ANN.address, ANN.request_id)
    assert (entry.action, entry.object_type, entry.object_id) == ("price.changed", "menu", "cafe-7")
    assert json.loads(entry.before or "") == {"/items/tea/price": 300}
    assert json.loads(entry.after or "") == {"/items/tea/price": 7}
    digest = hashlib.sha256(f"{entry.line}\n".encode()).hexdigest()
    assert AuditLog(database).heads() == [Head("main", 1, digest)]


_ANY = [
    "UPDATE audit_log SET actor = 'staff:bob'",
    "UPDATE audit_log SET actor = 'staff:bob' WHERE seq = 2",
    "DELETE FROM audit_log",
    "DELETE FROM audit_log WHERE seq = 3",
    "INSERT INTO audit_log SELECT * FROM audit_log WHERE seq = 3 "
    "ON CONFLICT (shop_id, seq) DO UPDATE SET actor = 'staff:bob'",
    # A gap, a number that is taken, and a first entry that is not.
    "INSERT INTO audit_log SELECT shop_id, 5, at, actor, address, request_id, action, object_type, "
    "object_id, before, after FROM audit_log WHERE seq = 3",
    "INSERT INTO audit_log SELECT shop_id, 2, at, actor, address, request_id, action, object_type, "
    "object_id, before, after FROM audit_log WHERE seq = 3",
    "INSERT INTO audit_log SELECT 'other', 2, at, actor, address, request_id, action, object_type, "
    "object_id, before, after FROM audit_log WHERE seq = 3",
]
_REFUSED = [
    *(("sqlite", statement) for statement in _ANY),
    # It takes the old row away without asking the triggers of DELETE.
    ("sqlite", "REPLACE INTO audit_log SELECT * FROM audit_log WHERE seq = 3"),
    *(("postgresql", statement) for statement in _ANY),
    ("postgresql", "TRUNCATE audit_log"),
]


@pytest.mark.parametrize(("database_url", "statement"), _REFUSED, indirect=["database_url"])
def test_the_database_refuses_all_but_the_next_entry(database: Database, statement: str) -> None:
    for number in range(3):
        act(database, number)
    before = entries(database)
    with pytest.raises(IntegrityError, match="audit_log"), database.write() as session:
        session.execute(text(statement))
    assert entries(database) == before


def test_an_entry_is_there_with_its_act_or_not_at_all(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    menus, staff = MenuStore(database, "main"), StaffStore(database)
    # The act fails after the entry was written ...
    with suppress(InputError), writing(database) as (session, now):
        record(session, now, ANN, "key.added", ("key", "k"), shop="main")
        raise InputError("the act failed")
    assert entries(database) == []

    # ... and the entry after the act.
    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("no entry")

    monkeypatch.setattr("services.storage.audit.menus.record", broken)
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
    assert faults(database) == []
    assert [(head.shop_id, head.seq) for head in AuditLog(database).heads()] == [("main", 48), ("other", 16)]


def test_what_is_listed(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAGE", 2)  # pages that begin inside a shop's log
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
