"""The second factor in storage: enrolment, one-time codes, recovery codes."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from sqlalchemy import text

from infra.sql.database import Database
from schemas.errors import Conflict, InputError, NotFound, TooManyAttempts
from schemas.shops.audit import Actor
from schemas.shops.staff import Halfway, StaffSession
from services.storage.audit.log import AuditLog
from services.storage.people import attempts
from services.storage.people.attempts import CODES, CODES_WIDE
from services.storage.people.second_step import RECOVERY_CODES, SecondSteps
from services.storage.people.sessions import SessionStore
from services.storage.people.sign_in import SignIns
from services.storage.people.staff import StaffStore
from tests.integration.signing import HERE, HOUR_S, PASSWORD, cheap, code_at, enter


class Ann:
    """An account and its owner's actions."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.steps, self.sign_ins, self.sessions = (
            SecondSteps(database), SignIns(database), SessionStore(database),
        )  # fmt: skip
        StaffStore(database).add("Ann", PASSWORD)
        self.token = enter(self.sign_ins)
        self.secret = ""

    @property
    def session(self) -> StaffSession:
        found = self.sessions.of(self.token, HOUR_S)
        assert found is not None
        return found

    def code(self, steps: int = 0) -> str:
        return code_at(self.database, self.secret, steps)

    def begin(self) -> None:
        self.steps.begin(self.session)
        self.secret = self.steps.secret(self.session) or ""
        assert self.secret

    def enrol(self) -> list[str]:
        self.begin()
        # Use the previous half minute's code: the current and next ones are for signing in.
        return self.steps.confirm(self.session, self.code(-1))

    def halfway(self, address: str = HERE) -> str:
        got = self.sign_ins.by_password("Ann", PASSWORD, address, HOUR_S)
        assert isinstance(got, Halfway)
        return got.token

    def enter(self, code: str, address: str = HERE) -> str | None:
        return self.sign_ins.by_code(self.halfway(address), code, address, HOUR_S)


@pytest.fixture
def ann(database: Database, monkeypatch: pytest.MonkeyPatch) -> Ann:
    cheap(monkeypatch)
    monkeypatch.setattr(attempts, "FIRST_WAIT_S", 300)
    return Ann(database)


def test_enrolment_needs_the_first_code(ann: Ann) -> None:
    with pytest.raises(InputError):
        ann.steps.confirm(ann.session, "123456")
    ann.begin()
    for wrong in ("", "12345", code_at(ann.database, ann.secret, 5), "abcdef", "１２３４５６", "é"):
        with pytest.raises(InputError):
            ann.steps.confirm(ann.session, wrong)
    assert ann.session.second_step is False
    got = enter(ann.sign_ins)
    typed = ann.code()
    codes = ann.steps.confirm(ann.session, f" {typed[:3]} {typed[3:]}")
    assert len(set(codes)) == RECOVERY_CODES == ann.steps.codes_left(ann.session.staff_id)
    assert ann.session.second_step is True
    assert StaffStore(ann.database).list()[0].second_step is True
    # Sessions without a code end; the one that confirmed continues.
    assert ann.sessions.of(got, HOUR_S) is None
    assert ann.enter(typed) is None, "the code that confirmed is used up"
    for again in (ann.steps.begin, lambda by: ann.steps.confirm(by, ann.code(1))):
        with pytest.raises(Conflict):
            again(ann.session)


def test_only_the_enrolling_session_sees_the_secret(ann: Ann) -> None:
    ann.begin()
    other = ann.sessions.of(enter(ann.sign_ins), HOUR_S)
    assert other is not None
    assert ann.steps.secret(other) is None
    with pytest.raises(InputError):
        ann.steps.confirm(other, ann.code())
    ann.steps.confirm(ann.session, ann.code())
    assert ann.steps.secret(ann.session) is None


def test_a_code_works_once_and_no_earlier_one(ann: Ann) -> None:
    ann.enrol()
    used = ann.code()
    assert ann.enter(used) is not None
    assert ann.enter(used) is None
    assert ann.enter(ann.code(-1)) is None
    assert ann.enter(ann.code(1)) is not None
    assert ann.enter(ann.code(2)) is None  # not yet good


@pytest.mark.parametrize("kind", ["phone", "recovery"])
def test_concurrent_uses_of_a_code_let_one_in(ann: Ann, race: Any, kind: str) -> None:
    codes = ann.enrol()
    code = ann.code() if kind == "phone" else codes[0]
    addresses = [f"192.0.2.{n}" for n in range(8)]
    tokens = [ann.halfway(address) for address in addresses]
    ends = race(8, lambda n: ann.sign_ins.by_code(tokens[n], code, addresses[n], HOUR_S))
    assert Counter(type(end) for end in ends) == {str: 1, type(None): 7}


def test_a_first_step_lets_one_in(ann: Ann, race: Any) -> None:
    codes = ann.enrol()
    token = ann.halfway()
    ends = race(5, lambda n: ann.sign_ins.by_code(token, codes[n], HERE, HOUR_S))
    assert sum(isinstance(end, str) for end in ends) == 1


def test_recovery_codes_work_once_and_are_hashed(ann: Ann) -> None:
    codes = ann.enrol()
    with ann.database.read() as session:
        stored = str([*session.execute(text("SELECT * FROM staff_recovery_codes"))])
    for code in codes:
        assert code not in stored
        assert code.replace("-", "") not in stored
    assert ann.enter(codes[0].upper().replace("-", " ")) is not None
    assert ann.enter(codes[0]) is None
    assert ann.steps.codes_left(ann.session.staff_id) == RECOVERY_CODES - 1
    renewed = ann.steps.renew_codes(ann.session.staff_id)
    assert ann.enter(codes[1]) is None
    assert ann.enter(renewed[1]) is not None


def test_codes_are_limited_like_passwords(ann: Ann) -> None:
    ann.enrol()
    token = ann.halfway()
    for _ in range(CODES.free):
        assert ann.sign_ins.by_code(token, "000000", HERE, HOUR_S) is None
    with pytest.raises(TooManyAttempts):
        ann.sign_ins.by_code(token, ann.code(), HERE, HOUR_S)
    # A correct password does not allow more attempts.
    with pytest.raises(TooManyAttempts):
        ann.enter(ann.code())


def test_codes_from_many_addresses_are_limited_by_name(ann: Ann) -> None:
    ann.enrol()
    for number in range(CODES_WIDE.free):
        assert ann.enter("000000", f"198.51.100.{number}") is None
    with pytest.raises(TooManyAttempts):
        ann.enter(ann.code(), "198.51.100.99")


def test_a_first_step_expires(ann: Ann) -> None:
    ann.enrol()
    staff = StaffStore(ann.database)
    for end in (lambda: staff.set_password("Ann", PASSWORD), lambda: ann.sessions.end_all("Ann")):
        token = ann.halfway()
        end()
        assert ann.sign_ins.halfway(token) is None
    token = ann.halfway()
    with ann.database.write() as session:
        session.execute(text("UPDATE staff_challenges SET expires_at = '2020-01-01 00:00:00+00:00'"))
    with pytest.raises(NotFound):
        ann.sign_ins.by_code(token, ann.code(), HERE, HOUR_S)
    token = ann.halfway()
    staff.disable("Ann")
    assert ann.sign_ins.halfway(token) is None


def test_disabling_deletes_secret_and_sessions(ann: Ann) -> None:
    ann.enrol()
    ann.steps.off("Ann")
    assert ann.sessions.of(ann.token, HOUR_S) is None
    assert enter(ann.sign_ins)
    with ann.database.read() as session:
        for table in ("staff_totp", "staff_recovery_codes"):
            assert session.execute(text(f"SELECT count(*) FROM {table}")).scalar_one() == 0
    with pytest.raises(NotFound):
        ann.steps.off("nobody")


def test_the_audit_log_has_changes_and_no_codes(ann: Ann) -> None:
    """A used recovery code is an act on the account; codes of the app and wrong codes are not."""
    by, codes = Actor("staff:Ann", "10.0.0.7"), ann.enrol()
    assert ann.enter(codes[0]) is not None
    assert ann.enter(codes[0]) is None
    assert ann.enter(ann.code()) is not None
    renewed = ann.steps.renew_codes(ann.session.staff_id, by=by)
    ann.steps.off("Ann", keeping=ann.session.id, by=by)
    ann.steps.off("Ann", keeping=ann.session.id, by=by)  # there is none, so nothing was done
    log = AuditLog(ann.database)
    acts = [(one.action, one.actor, one.after) for one in log.entries() if one.action != "account.added"]
    assert acts == [
        ("second_step.on", "unknown", '{"recovery_codes":10}'),
        ("recovery_code.used", "staff:Ann", '{"recovery_codes":9}'),
        ("recovery_codes.made", "staff:Ann", '{"recovery_codes":10}'),
        ("second_step.off", "staff:Ann", None),
    ]
    assert {(one.object_type, one.object_id) for one in log.entries()} == {("account", "Ann")}
    with ann.database.read() as session:
        kept = str(session.execute(text("SELECT * FROM audit_log")).all())
    for hidden in (ann.secret, *codes, *renewed):
        assert hidden not in kept
