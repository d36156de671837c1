"""Tampering, with the triggers out of the way: `verify` finds gaps, and by a noted head everything else."""

from __future__ import annotations

import pytest

from infra.sql.database import Database
from schemas.shops.audit import Head
from services.storage.audit.log import AuditLog
from services.storage.base.tables import AuditRow
from tests.integration.audit_world import act, faults, tamper

LENGTH = 6
FIELDS = [column.name for column in AuditRow.__table__.columns]


@pytest.fixture
def log(database: Database) -> Database:
    for number in range(LENGTH):
        act(database, number)
    assert faults(database) == []
    return database


def heads(log: Database) -> list[Head]:
    return AuditLog(log).heads()


@pytest.mark.parametrize("field", FIELDS)
def test_a_changed_field_is_found_by_a_head(log: Database, field: str) -> None:
    noted = heads(log)
    tamper(log, f"UPDATE audit_log SET {field} = :new WHERE seq = 3", new=9 if field == "seq" else "x")
    gap = field in ("seq", "shop_id")
    found = faults(log, *noted)
    assert found[0].startswith("entry 3 is missing" if gap else "entry 6, or one before it, is not as it was")
    assert len(found) == 1 + (field == "shop_id"), "the log that it was moved to has a gap too"
    assert bool(faults(log)) == gap, "without a head nothing inside can tell"


@pytest.mark.parametrize("gone", [1, 3])
def test_a_removed_entry_is_missed(log: Database, gone: int) -> None:
    tamper(log, "DELETE FROM audit_log WHERE seq = :gone", gone=gone)
    assert faults(log)[0].startswith(f"entry {gone} is missing")


def test_a_cut_end_needs_a_head_that_was_noted(log: Database) -> None:
    [head] = heads(log)
    tamper(log, "DELETE FROM audit_log WHERE seq > 4")
    assert faults(log) == [], "a shorter log is a log: nothing inside can tell"
    [fault] = faults(log, head)
    assert "entry 5 is missing: entry 6 was noted" in fault
    tamper(log, "DELETE FROM audit_log")
    assert faults(log) == []
    assert "entry 1 is missing" in faults(log, head)[0]


def test_a_head_stands_while_the_log_grows(log: Database) -> None:
    noted = heads(log)
    act(log, 99)
    assert faults(log, *noted) == []


def test_a_log_that_is_gone_is_missed_by_its_head(log: Database) -> None:
    act(log, shop="other")
    noted = heads(log)
    tamper(log, "DELETE FROM audit_log WHERE shop_id = 'other'")
    assert faults(log) == []
    verdicts = AuditLog(log).verify(noted=noted)
    assert [(one.head.shop_id, bool(one.fault)) for one in verdicts] == [("main", False), ("other", True)]
    # Of one shop, and a head of another: neither is left out.
    assert len(AuditLog(log).verify("main", noted)) == 2


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize(("field", "value"), [("actor", "X'616e6e'"), ("seq", "X'616e6e'"), ("seq", "4.5")])
def test_what_sqlite_lets_stand_anywhere(log: Database, field: str, value: str) -> None:
    """Bytes in a text, a fraction for a number: found, and no crash."""
    tamper(log, f"UPDATE audit_log SET {field} = {value} WHERE seq = 4")
    assert faults(log)[0].startswith("entry 4 is ")
