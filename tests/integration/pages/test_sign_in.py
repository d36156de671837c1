"""Sign-in attempts: who must wait, and how many are hashed at once."""

from __future__ import annotations

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from argon2 import PasswordHasher
from sqlalchemy import text

from infra import passwords
from infra.passwords import AT_ONCE, QUEUE
from infra.sql.database import Database
from schemas.errors import SignInBusy, TooManyAttempts
from services.storage.base.tables_staff import SignInRow
from services.storage.people import attempts
from services.storage.people.attempts import BY_NAME, CODES, FORGET_S, NARROW, WIDE, Attempts
from services.storage.people.sessions import SessionStore
from services.storage.people.sign_in import SignIns
from services.storage.people.staff import StaffStore
from tests.integration.signing import HERE, HOUR_S, PASSWORD, Counting, cheap, enter
from tests.waiting import until

WRONG = "a wrong guess"


@pytest.fixture(autouse=True)
def hasher(monkeypatch: pytest.MonkeyPatch) -> Counting:
    # Delays are compared, never waited for: a busy machine may be slower than the first.
    monkeypatch.setattr(attempts, "FIRST_WAIT_S", 300)
    return cheap(monkeypatch)


@pytest.fixture
def sign_ins(database: Database) -> SignIns:
    StaffStore(database).add("Ann", PASSWORD)
    return SignIns(database)


def guess(sign_ins: SignIns, address: str = HERE, name: str = "Ann", times: int = 1) -> None:
    for _ in range(times):
        assert sign_ins.by_password(name, WRONG, address, HOUR_S) is None


def rows(database: Database) -> int:
    with database.read() as session:
        return int(session.execute(text("SELECT count(*) FROM sign_in_attempts")).scalar_one())


def from_many(sign_ins: SignIns, name: str = "Ann") -> None:
    """Guess for one name from different addresses until unknown browsers must wait."""
    for number in range(BY_NAME.free):
        guess(sign_ins, f"198.51.100.{number}", name)
    with pytest.raises(TooManyAttempts):
        sign_ins.by_password(name, PASSWORD, "203.0.113.99", HOUR_S)


def test_guessing_from_one_address_blocks_no_other(sign_ins: SignIns) -> None:
    """One guess per second must not lock the owner out."""
    guess(sign_ins, times=NARROW.free)
    for _ in range(3 * BY_NAME.free):
        with pytest.raises(TooManyAttempts):
            sign_ins.by_password("Ann", WRONG, HERE, HOUR_S)
    assert enter(sign_ins, "203.0.113.7")


def test_guesses_from_many_addresses_delay_the_owner_by_seconds(sign_ins: SignIns) -> None:
    from_many(sign_ins)
    for number in range(10):
        with pytest.raises(TooManyAttempts) as held_up:
            sign_ins.by_password("Ann", PASSWORD, f"203.0.113.{number}", HOUR_S)
        assert held_up.value.wait_s <= 10


def test_an_address_can_not_try_many_names(sign_ins: SignIns) -> None:
    for number in range(WIDE.free):
        guess(sign_ins, name=f"nobody {number}")
    with pytest.raises(TooManyAttempts):
        sign_ins.by_password("one more", WRONG, HERE, HOUR_S)


def test_an_ipv6_network_counts_as_one_address(sign_ins: SignIns) -> None:
    for number in range(WIDE.free):
        guess(sign_ins, f"2001:db8:0:7:{number:x}::1", name=f"nobody {number}")
    with pytest.raises(TooManyAttempts):
        sign_ins.by_password("Ann", PASSWORD, "2001:db8:0:7::ffff", HOUR_S)
    assert enter(sign_ins, "2001:db8:0:8::1")


def test_ones_own_account_allows_no_extra_guesses(sign_ins: SignIns, database: Database) -> None:
    StaffStore(database).add("Bob", PASSWORD)
    for number in range(WIDE.free):
        guess(sign_ins, name=f"nobody {number}")
        if number % 4 == 0:
            enter(sign_ins, name="Bob")
    with pytest.raises(TooManyAttempts):
        sign_ins.by_password("Ann", WRONG, HERE, HOUR_S)


def test_success_resets_failures_there(sign_ins: SignIns, database: Database) -> None:
    guess(sign_ins, times=NARROW.free - 1)
    enter(sign_ins)
    guess(sign_ins, times=NARROW.free - 1)
    enter(sign_ins)
    # The eight guesses still count for the address and the name.
    assert rows(database) == 2


def test_a_new_password_lets_strangers_try_again(sign_ins: SignIns, database: Database) -> None:
    from_many(sign_ins)
    StaffStore(database).set_password("Ann", "another long one")
    assert enter(sign_ins, "203.0.113.99", password="another long one")


def test_concurrent_guesses_are_all_counted(
    sign_ins: SignIns, race: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passwords, "QUEUE", 100)
    ends = race(12, lambda n: sign_ins.by_password("Ann", f"{WRONG} {n}", HERE, HOUR_S))
    assert Counter(type(end) for end in ends) == {type(None): NARROW.free, TooManyAttempts: 7}


def test_concurrent_successes_leave_no_failures(
    sign_ins: SignIns, race: Any, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A concurrent count does not overwrite a reset."""
    monkeypatch.setattr(passwords, "QUEUE", 100)
    monkeypatch.setattr(attempts, "NARROW", WIDE)
    ends = race(12, lambda n: sign_ins.by_password("Ann", PASSWORD, HERE, HOUR_S))
    assert {type(end) for end in ends} == {str}
    assert rows(database) == 0


def test_signed_in_people_have_their_own_queue(
    sign_ins: SignIns, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An attacker who fills the queue from many addresses does not block staff."""
    session = SessionStore(database).of(enter(sign_ins), HOUR_S)
    assert session is not None
    hasher = cheap(monkeypatch, pause_s=0.2)
    with ThreadPoolExecutor(60) as pool:
        crowd = [
            pool.submit(sign_ins.by_password, f"nobody {n}", WRONG, f"198.51.100.{n}", HOUR_S)
            for n in range(60)
        ]
        until(lambda: passwords._inside >= AT_ONCE + QUEUE, 30, every_s=0.005)
        assert sign_ins.proves(session, PASSWORD)
    refused = sum(isinstance(one.exception(), SignInBusy) for one in crowd)
    assert refused >= 1
    assert hasher.most == AT_ONCE
    assert passwords._inside == 0


def test_an_attempt_that_waited_is_not_refused(sign_ins: SignIns, database: Database) -> None:
    """It began before the other attempt was counted, which must not look like clock skew."""
    waiting_sql = text("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
    key = attempts._key("address", HERE, "password")
    with ThreadPoolExecutor(1) as pool:
        with database.write() as session:
            database.lock(session, f"sign-in:{key}")
            attempt = pool.submit(sign_ins.by_password, "Ann", WRONG, HERE, HOUR_S)
            # On SQLite it begins only when this transaction has ended.
            until(lambda: database.is_sqlite or session.execute(waiting_sql).scalar_one(), 60)
            session.add(SignInRow(key=key, attempts=1, last_at=database.now(session)))
        assert attempt.result() is None


def test_old_attempts_are_deleted_and_stored_hashed(sign_ins: SignIns, database: Database) -> None:
    guess(sign_ins, name=PASSWORD)  # into the wrong field
    with database.read() as session:
        stored = str([*session.execute(text("SELECT * FROM sign_in_attempts"))])
    assert PASSWORD not in stored
    assert HERE not in stored
    with database.write() as session:
        session.execute(text("UPDATE sign_in_attempts SET last_at = '2020-01-01 00:00:00+00:00'"))
    guess(sign_ins, "203.0.113.7", name="somebody else")
    assert rows(database) == 3


def test_attempts_expire_one_by_one(database: Database) -> None:
    counts = Attempts(database)
    for _ in range(NARROW.free):
        counts.count("Ann", HERE)
    with database.write() as session:
        ago = database.now(session).timestamp() - NARROW.forgive_s
        session.execute(text("UPDATE sign_in_attempts SET last_at = :at"), {"at": _stamp(ago)})
    counts.count("Ann", HERE)
    with pytest.raises(TooManyAttempts):
        counts.count("Ann", HERE)


def _stamp(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S.000000+00:00", time.gmtime(seconds))


@pytest.mark.parametrize("limit", [NARROW, WIDE, BY_NAME, CODES])
def test_delays_grow_up_to_a_limit(limit: attempts.Limit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "FIRST_WAIT_S", 2)
    waits = [limit.wait_s(n) for n in range(1, limit.free + 40)]
    assert waits[: limit.free - 1] == [0.0] * (limit.free - 1)
    assert waits[limit.free - 1 : limit.free + 2] == [2.0, 4.0, 8.0]
    assert waits == sorted(waits)
    assert waits[-1] == limit.longest_s < FORGET_S
    assert limit.remaining(limit.free, limit.forgive_s * limit.free) == 0


def test_unknown_names_take_as_long_as_known_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """An unknown name must take as long as a known one, from the first attempt."""
    monkeypatch.undo()
    real, decoy = PasswordHasher().hash(PASSWORD), passwords._DECOY
    assert decoy.split("$")[:4] == real.split("$")[:4]
    assert len(decoy) == len(real)
    assert passwords.verify_password(None, PASSWORD) is False
    assert not PasswordHasher().check_needs_rehash(decoy)
