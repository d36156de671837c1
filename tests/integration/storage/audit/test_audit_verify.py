"""Tampering of every kind, with the triggers out of the way: `verify` finds it."""

from __future__ import annotations

from dataclasses import asdict, replace

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from infra.sql.database import Database
from schemas.shops.audit import Entry, Head, digest_of
from services.storage.audit.log import AuditLog
from services.storage.base.tables import AuditRow
from tests.integration.audit_world import act, faults, past_the_triggers, tamper

LENGTH = 6
FIELDS = [column.name for column in AuditRow.__table__.columns]
NULLABLE = {column.name for column in AuditRow.__table__.columns if column.nullable}


@pytest.fixture
def chain(database: Database) -> Database:
    for number in range(LENGTH):
        act(database, number)
    assert faults(database) == []
    return database


@pytest.mark.parametrize("field", FIELDS)
def test_a_changed_field_is_found_and_its_entry_named(chain: Database, field: str) -> None:
    tamper(chain, f"UPDATE audit_log SET {field} = :new WHERE seq = 3", new=9 if field == "seq" else "x")
    [fault, *others] = faults(chain)
    assert ("entry 3 is missing" if field in ("seq", "shop_id") else "entry 3 was changed") in fault
    assert len(others) == (field == "shop_id"), "the chain that it was moved to is broken too"


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], database=None
)
@given(
    seq=st.integers(1, LENGTH),
    field=st.sampled_from(FIELDS),
    new=st.one_of(st.none(), st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))),
    number=st.integers(-(2**63), 2**63 - 1),
)
def test_any_field_of_any_entry(chain: Database, seq: int, field: str, new: str | None, number: int) -> None:
    [old] = [entry for entry in AuditLog(chain).entries() if entry.seq == seq]
    value = number if field == "seq" else new
    assume(value != getattr(old, field) and (value is not None or field in NULLABLE))
    assume(not (field == "seq" and 1 <= number <= LENGTH))  # taken
    assert faults(chain) == []
    tamper(chain, f"UPDATE audit_log SET {field} = :v WHERE shop_id = 'main' AND seq = :s", v=value, s=seq)
    found = faults(chain)
    # Whatever it was, it is put back, and the chain is whole again.
    back = {f"old_{name}": held for name, held in asdict(old).items()}
    where = "hash = :old_hash" if field != "hash" else "seq = :old_seq AND shop_id = :old_shop_id"
    sets = ", ".join(f"{name} = :old_{name}" for name in FIELDS)
    tamper(chain, f"UPDATE audit_log SET {sets} WHERE {where}", **back)
    assert found, (seq, field, value)


@pytest.mark.parametrize(("gone", "said"), [(1, "entry 1 is missing"), (3, "entry 3 is missing")])
def test_a_removed_entry_is_missed(chain: Database, gone: int, said: str) -> None:
    tamper(chain, "DELETE FROM audit_log WHERE seq = :gone", gone=gone)
    assert said in faults(chain)[0]


def test_two_exchanged_entries_are_found(chain: Database) -> None:
    for one, other in ((2, -2), (3, 2), (-2, 3)):
        tamper(chain, "UPDATE audit_log SET seq = :other WHERE seq = :one", one=one, other=other)
    assert "entry 2 was changed" in faults(chain)[0]


def test_a_cut_end_needs_a_head_that_was_noted(chain: Database) -> None:
    [head] = AuditLog(chain).heads()
    tamper(chain, "DELETE FROM audit_log WHERE seq > 4")
    assert faults(chain) == [], "a shorter chain is a chain: nothing inside can tell"
    [fault] = faults(chain, head)
    assert "entry 5 is missing: entry 6 was noted" in fault
    tamper(chain, "DELETE FROM audit_log")
    assert faults(chain) == []
    assert "entry 1 is missing" in faults(chain, head)[0]


def test_one_entry_written_anew_is_found_by_the_next(chain: Database) -> None:
    rewrite(chain, 3, until=3)
    assert "entry 4 does not follow entry 3" in faults(chain)[0]


def test_a_chain_written_anew_to_its_end_needs_a_head(chain: Database) -> None:
    heads = AuditLog(chain).heads()
    early = Head("main", 2, list(AuditLog(chain).entries())[1].hash)
    rewrite(chain, 3, until=LENGTH)
    assert faults(chain) == []
    assert faults(chain, early) == [], "what was noted before stands"
    assert "entry 6 is not the one whose hash was noted" in faults(chain, early, *heads)[0]


def test_a_head_stands_while_the_chain_grows(chain: Database) -> None:
    heads = AuditLog(chain).heads()
    act(chain, 99)
    assert faults(chain, *heads) == []


def test_a_chain_that_is_gone_is_missed_by_its_head(chain: Database) -> None:
    act(chain, shop="other")
    heads = AuditLog(chain).heads()
    tamper(chain, "DELETE FROM audit_log WHERE shop_id = 'other'")
    assert faults(chain) == []
    verdicts = AuditLog(chain).verify(noted=heads)
    assert [(one.head.shop_id, bool(one.fault)) for one in verdicts] == [("main", False), ("other", True)]
    # Of one shop, and a head of another: neither is left out.
    assert len(AuditLog(chain).verify("main", heads)) == 2


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("value", ["X'616e6e'", "4.5"])
@pytest.mark.parametrize("field", ["actor", "seq", "after"])
def test_what_sqlite_lets_stand_anywhere(chain: Database, field: str, value: str) -> None:
    """Bytes in a text, a fraction for a number: found, and no crash."""
    tamper(chain, f"UPDATE audit_log SET {field} = {value} WHERE seq = 4")
    assert "entry 4" in faults(chain)[0]


def rewrite(database: Database, start: int, until: int) -> None:
    """As somebody would who owns the database and knows the form: new hashes from `start` on."""
    found: list[Entry] = list(AuditLog(database).entries())
    with past_the_triggers(database) as session:
        for at in range(start - 1, until):
            entry = replace(found[at], actor="staff:bob", previous=found[at - 1].hash)
            found[at] = replace(entry, hash=digest_of(entry))
            statement = (
                "UPDATE audit_log SET actor = :actor, previous = :previous, hash = :hash WHERE seq = :seq"
            )
            session.execute(text(statement), asdict(found[at]))
