"""Staff sessions in storage."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import event, text, update

from infra.passwords import hash_password
from infra.sql.database import Database
from schemas.shops.staff import StaffSession
from services.storage.base.tables_staff import StaffSessionRow
from services.storage.people.sessions import USED_EVERY_S, SessionStore, end_sessions, lock_account
from services.storage.people.sign_in import SignIns
from services.storage.people.staff import StaffStore
from tests.integration.signing import HERE, HOUR_S, PASSWORD, cheap, enter
from tests.waiting import until


@pytest.fixture(autouse=True)
def _cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    cheap(monkeypatch)


@pytest.fixture
def sessions(database: Database) -> SessionStore:
    StaffStore(database).add("Ann", PASSWORD)
    return SessionStore(database)


def found(sessions: SessionStore, token: str, idle_s: float = HOUR_S, **more: bool) -> StaffSession:
    session = sessions.of(token, idle_s, **more)
    assert session is not None
    return session


def unused_for(database: Database, seconds: int) -> None:
    """Move every session's last use back by this time."""
    with database.write() as session:
        ago = database.now(session) - timedelta(seconds=seconds)
        session.execute(update(StaffSessionRow).values(used_at=ago))


def test_neither_password_nor_token_is_stored(sessions: SessionStore, database: Database) -> None:
    token = enter(SignIns(database))
    with database.read() as session:
        rows = [
            *session.execute(text("SELECT * FROM staff")),
            *session.execute(text("SELECT * FROM staff_sessions")),
        ]
    assert len(rows) == 2
    assert "$argon2id$" in str(rows)
    for secret in (PASSWORD, token):
        assert secret not in str(rows)


def test_a_session_expires(sessions: SessionStore, database: Database) -> None:
    assert sessions.of(enter(SignIns(database), lasting_s=0.0), HOUR_S) is None
    enter(SignIns(database))
    with database.read() as session:
        assert session.execute(text("SELECT count(*) FROM staff_sessions")).scalar_one() == 1


def test_an_unused_session_expires(sessions: SessionStore, database: Database) -> None:
    token = enter(SignIns(database))
    unused_for(database, 3000)
    found(sessions, token, used=False)
    unused_for(database, 3601)
    assert sessions.of(token, HOUR_S) is None


def test_use_is_recorded_once_per_minute(sessions: SessionStore, database: Database) -> None:
    token = enter(SignIns(database))
    written: list[str] = []

    def note(_c: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if statement.startswith("UPDATE"):
            written.append(statement)

    event.listen(database._engine, "before_cursor_execute", note)
    try:
        for _ in range(5):
            found(sessions, token)
        assert written == []
        unused_for(database, int(USED_EVERY_S) + 1)
        written.clear()
        for _ in range(5):
            found(sessions, token)
        assert len(written) == 1
    finally:
        event.remove(database._engine, "before_cursor_execute", note)


def test_no_session_starts_during_a_password_change(sessions: SessionStore, database: Database) -> None:
    """A sign-in with the old password waits while a new one is being stored, and then fails."""
    waiting = text("SELECT count(*) FROM pg_locks WHERE NOT granted")
    with ThreadPoolExecutor(1) as pool:
        with database.write() as session:
            row = lock_account(session, _ann(database))
            row.password_hash = hash_password("another long one")
            end_sessions(session, row.id)
            session.flush()
            attempt = pool.submit(SignIns(database).by_password, "Ann", PASSWORD, HERE, HOUR_S)
            # On SQLite it begins only when this transaction has ended.
            until(lambda: database.is_sqlite or attempt.done() or session.execute(waiting).scalar_one(), 60)
        assert attempt.result() is None
    with database.read() as session:
        assert session.execute(text("SELECT count(*) FROM staff_sessions")).scalar_one() == 0


def _ann(database: Database) -> str:
    return next(one.id for one in StaffStore(database).list() if one.name == "Ann")
