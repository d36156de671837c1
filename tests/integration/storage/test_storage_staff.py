"""Staff accounts in storage."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from infra.sql.database import Database
from schemas.errors import Conflict, InputError, NotFound
from services.storage.people.sessions import SessionStore
from services.storage.people.sign_in import SignIns
from services.storage.people.staff import StaffStore
from services.storage.shops.store import ShopStore
from tests.integration.signing import HERE, HOUR_S, PASSWORD, cheap, enter
from tests.stand_ins import TESTER


@pytest.fixture(autouse=True)
def _cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    cheap(monkeypatch)


@pytest.fixture
def staff(database: Database) -> StaffStore:
    return StaffStore(database)


def signed_in(database: Database, token: str) -> bool:
    return SessionStore(database).of(token, HOUR_S) is not None


def test_an_account_is_created_and_listed(staff: StaffStore) -> None:
    ann = staff.add("  Ann ", PASSWORD)
    assert (ann.name, ann.disabled_at, ann.second_step) == ("Ann", None, False)
    assert staff.list() == [ann]


def test_disabling_an_account_ends_its_sessions(staff: StaffStore, database: Database) -> None:
    staff.add("Ann", PASSWORD)
    token = enter(SignIns(database))
    gone = staff.disable("Ann")
    assert gone.disabled_at is not None
    assert not signed_in(database, token)
    assert SignIns(database).by_password("Ann", PASSWORD, HERE, HOUR_S) is None
    assert staff.disable("Ann") == gone
    with pytest.raises(Conflict, match="already"):
        staff.add("Ann", PASSWORD)


@pytest.mark.parametrize(
    ("name", "password"),
    [("", PASSWORD), ("x" * 81, PASSWORD), ("a\nb", PASSWORD), ("Ann", "eleven char"), ("Ann", "x" * 201)],
)
def test_invalid_names_and_passwords(staff: StaffStore, name: str, password: str) -> None:
    with pytest.raises(InputError):
        staff.add(name, password)
    assert staff.list() == []


@pytest.mark.parametrize(
    "password",
    [
        "aaaaaaaaaaaa", "abababababab", "passwordpassword", "Password1234!", "123456789012", "987654321098",
        "qwertyuiop12", "1q2w3e4r5t6y", "1qaz2wsx3edc", "zxcvbnm12345", "iloveyou1234", "administrator",
        "contraseña123", "letmein2letmein", "welcome 2024", "Annabel Smith", "annabel smith 1",
        "main main main", "Saycart 2026!", "abcdefghijkl", "whosyourdaddy", "NCC1701D-2024", "Michelle2024!",
    ],
)  # fmt: skip
def test_guessable_passwords_are_rejected(staff: StaffStore, password: str) -> None:
    with pytest.raises(InputError, match="easy to guess"):
        staff.add("Annabel Smith", password)
    staff.add("Annabel Smith", PASSWORD)
    with pytest.raises(InputError, match="easy to guess"):
        staff.set_password("Annabel Smith", password)


@pytest.mark.parametrize(
    "password",
    ["correct horse battery", "another long one", "Tr0ub4dor&3xyz", "un café con leche", "vT9#kQ2m!xLp"],
)
def test_other_passwords_are_accepted(staff: StaffStore, password: str) -> None:
    assert staff.add("Annabel Smith", password).name == "Annabel Smith"


@pytest.mark.parametrize(
    "alike", ["jill  o'carn", "ＪＩＬＬ O'Carn", "Јill O'Carn", "JiII O'Carn", "Ji1| 0'Carn", "Jıll O'Cɑrn"]
)
def test_a_name_that_looks_like_another_is_rejected(staff: StaffStore, alike: str) -> None:
    staff.add("Jill O'Carn", PASSWORD)
    with pytest.raises((Conflict, InputError)):
        staff.add(alike, PASSWORD)


def test_names_that_differ_by_case_clash_in_any_script(staff: StaffStore) -> None:
    staff.add("Тарас", PASSWORD)
    with pytest.raises((Conflict, InputError)):
        staff.add("ТАРАС", PASSWORD)


def test_ordinary_names_do_not_clash(staff: StaffStore, database: Database) -> None:
    ShopStore(database).add("other", "Other", by=TESTER)
    for name in ("Mario", "Marlo", "Amie", "Arnie"):
        staff.add(name, PASSWORD)
    assert staff.add("mario", PASSWORD, shop="other").shop == "other"
    with pytest.raises(Conflict):
        staff.add("Mario", PASSWORD, shop="other")


def test_unknown_accounts_are_not_found(staff: StaffStore) -> None:
    for act in (lambda: staff.disable("bob"), lambda: staff.set_password("bob", PASSWORD)):
        with pytest.raises(NotFound):
            act()


def test_concurrent_accounts_with_one_name(staff: StaffStore, race: Any) -> None:
    ends = race(4, lambda n: staff.add("Ann", f"{PASSWORD} {n}"))
    assert Counter(type(end) for end in ends)[Conflict] == 3
    assert len(staff.list()) == 1
