"""Staff accounts and sessions in storage, on SQLite and on PostgreSQL."""

from __future__ import annotations

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import text

from infra.database import Database
from schemas.errors import Conflict, InputError, NotFound, TooManyAttempts
from services.storage.staff import FREE_ATTEMPTS, LONGEST_WAIT_S, StaffStore, wait_after
from services.storage.tables import SignInRow

PASSWORD = "correct horse battery"
HOUR_S = 3600.0


@pytest.fixture
def staff(database: Database) -> StaffStore:
    return StaffStore(database)


def change(database: Database, statement: str) -> None:
    with database.write() as session:
        session.execute(text(statement))


def test_an_account_signs_in_and_out(staff: StaffStore) -> None:
    ann = staff.add("  Ann ", PASSWORD)
    assert (ann.name, ann.disabled_at) == ("Ann", None)
    assert staff.list() == [ann]
    token = staff.sign_in("Ann", PASSWORD, HOUR_S)
    assert token is not None
    assert staff.session(token) == ann
    assert staff.session(token + "x") is None
    staff.sign_out(token)
    assert staff.session(token) is None
    staff.sign_out(token)


def test_neither_password_nor_token_is_stored(staff: StaffStore, database: Database) -> None:
    staff.add("Ann", PASSWORD)
    token = staff.sign_in("Ann", PASSWORD, HOUR_S)
    with database.read() as session:
        rows = [
            *session.execute(text("SELECT * FROM staff")),
            *session.execute(text("SELECT * FROM staff_sessions")),
        ]
    assert len(rows) == 2
    assert "$argon2id$" in str(rows)
    assert PASSWORD not in str(rows)
    assert str(token) not in str(rows)


def test_a_session_ends_by_itself(staff: StaffStore, database: Database) -> None:
    staff.add("Ann", PASSWORD)
    old = staff.sign_in("Ann", PASSWORD, 0.0)
    assert old is not None
    assert staff.session(old) is None
    staff.sign_in("Ann", PASSWORD, HOUR_S)
    with database.read() as session:
        assert session.execute(text("SELECT count(*) FROM staff_sessions")).scalar_one() == 1


def test_a_disabled_account_is_out_at_once(staff: StaffStore) -> None:
    staff.add("Ann", PASSWORD)
    token = staff.sign_in("Ann", PASSWORD, HOUR_S)
    assert token is not None
    gone = staff.disable("Ann")
    assert gone.disabled_at is not None
    assert staff.session(token) is None
    assert staff.sign_in("Ann", PASSWORD, HOUR_S) is None
    assert staff.disable("Ann") == gone
    with pytest.raises(Conflict, match="already"):
        staff.add("Ann", PASSWORD)


def test_a_new_password_ends_sessions(staff: StaffStore) -> None:
    staff.add("Ann", PASSWORD)
    token = staff.sign_in("Ann", PASSWORD, HOUR_S)
    assert token is not None
    staff.set_password("Ann", "another long one")
    assert staff.session(token) is None
    assert staff.sign_in("Ann", PASSWORD, HOUR_S) is None
    assert staff.sign_in("Ann", "another long one", HOUR_S) is not None


@pytest.mark.parametrize(
    ("name", "password"),
    [("", PASSWORD), ("x" * 81, PASSWORD), ("a\nb", PASSWORD), ("Ann", "short"), ("Ann", "x" * 201)],
)
def test_unfit_names_and_passwords(staff: StaffStore, name: str, password: str) -> None:
    with pytest.raises(InputError):
        staff.add(name, password)
    assert staff.list() == []


def test_accounts_that_do_not_exist(staff: StaffStore) -> None:
    for act in (lambda: staff.disable("bob"), lambda: staff.set_password("bob", PASSWORD)):
        with pytest.raises(NotFound):
            act()


@pytest.mark.parametrize("name", ["Ann", "nobody"])
def test_guessing_has_to_wait_and_success_forgets(
    staff: StaffStore, database: Database, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Hashing a password takes longer than the first wait where many other things run.
    monkeypatch.setattr("services.storage.staff.FIRST_WAIT_S", 60)
    staff.add("Ann", PASSWORD)
    for _ in range(FREE_ATTEMPTS):
        assert staff.sign_in(name, "a wrong guess", HOUR_S) is None
    with pytest.raises(TooManyAttempts) as refused:
        staff.sign_in(name, PASSWORD, HOUR_S)
    assert 0 < refused.value.wait_s <= 60
    change(database, "UPDATE sign_ins SET last_at = '2020-01-01 00:00:00+00:00'")
    if name == "Ann":
        assert staff.sign_in(name, PASSWORD, HOUR_S) is not None
        with database.read() as session:
            assert session.execute(text("SELECT count(*) FROM sign_ins")).scalar_one() == 0


def test_waits_grow_to_a_bound() -> None:
    waits = [wait_after(n) for n in range(1, 40)]
    assert waits[: FREE_ATTEMPTS - 1] == [0.0] * (FREE_ATTEMPTS - 1)
    assert waits[FREE_ATTEMPTS - 1 : FREE_ATTEMPTS + 2] == [2.0, 4.0, 8.0]
    assert waits == sorted(waits)
    assert waits[-1] == LONGEST_WAIT_S


def test_guesses_side_by_side_are_counted_each(
    staff: StaffStore, race: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Hashing eight passwords may take a busy machine longer than the first wait.
    monkeypatch.setattr("services.storage.staff.FIRST_WAIT_S", LONGEST_WAIT_S)
    staff.add("Ann", PASSWORD)
    ends = race(8, lambda n: staff.sign_in("Ann", f"a wrong guess {n}", HOUR_S))
    assert Counter(type(end) for end in ends) == {type(None): FREE_ATTEMPTS, TooManyAttempts: 3}


def test_an_attempt_that_waited_for_another_is_not_refused(staff: StaffStore, database: Database) -> None:
    """It began before the one that it waited for was counted: that is no guess from the future."""
    waiting_sql = text("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
    with ThreadPoolExecutor(1) as pool:
        with database.write() as session:
            database.lock(session, "sign-in:Ann")
            attempt = pool.submit(staff.sign_in, "Ann", "a wrong guess", HOUR_S)
            # On SQLite it begins only when this transaction has ended.
            end = time.monotonic() + 60
            while not database.is_sqlite and session.execute(waiting_sql).scalar_one() == 0:
                assert time.monotonic() < end
                time.sleep(0.05)
            session.add(SignInRow(name="Ann", attempts=1, last_at=database.now(session)))
        assert attempt.result() is None


def test_one_of_two_gets_a_name(staff: StaffStore, race: Any) -> None:
    ends = race(4, lambda n: staff.add("Ann", f"{PASSWORD} {n}"))
    assert Counter(type(end) for end in ends)[Conflict] == 3
    assert len(staff.list()) == 1
