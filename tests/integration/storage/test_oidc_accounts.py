"""Accounts bound to an OpenID Connect provider: invitations, bindings, races, audit."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from click.testing import Result
from sqlalchemy import select

from infra.sql.database import Database
from schemas.errors import Conflict, InputError, NotFound, NotLetIn
from schemas.shops.audit import Actor
from schemas.shops.staff import Identity
from services.storage.audit.log import AuditLog
from services.storage.base.tables_staff import SignInRow, StaffOidcRow
from services.storage.people.provider_accounts import MAX_ID_TOKEN_CHARS, ProviderAccounts
from services.storage.people.sessions import SessionStore
from services.storage.people.sign_in import SignIns
from services.storage.people.staff import StaffStore
from tests.integration.signing import HERE, HOUR_S, PASSWORD, cheap
from tests.stand_ins import TESTER

ISSUER = "https://login.example"


class Desk:
    """The stores of a database with the accounts Ann and Bob."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.staff, self.sessions = StaffStore(database), SessionStore(database)
        self.accounts, self.audit = ProviderAccounts(database), AuditLog(database)
        for name in ("Ann", "Bob"):
            self.staff.add(name, None)

    def invite(self, name: str, **by: str) -> None:
        self.accounts.invite(name, ISSUER, by=TESTER, **by)

    def enter(self, subject: str, email: str = "", issuer: str = ISSUER, id_token: str = "a.b.c") -> str:
        """Sign in; return the session token."""
        counted = self.accounts.count(HERE)
        who = Identity(issuer, subject, email, id_token)
        return self.accounts.enter(who, HOUR_S, counted=counted, by=Actor)[1]

    def bindings(self) -> list[tuple[str | None, str | None]]:
        with self.database.read() as session:
            return [tuple(row) for row in session.execute(select(StaffOidcRow.subject, StaffOidcRow.email))]


@pytest.fixture
def desk(database: Database, monkeypatch: pytest.MonkeyPatch) -> Desk:
    cheap(monkeypatch)
    return Desk(database)


def test_an_email_address_is_invited_once(desk: Desk) -> None:
    desk.invite("Ann", email="Ann@Example.com")
    assert desk.bindings() == [(None, "ann@example.com")]
    for stranger in (("1", "bob@example.com"), ("1", "ann@example.com", "https://other.example")):
        with pytest.raises(NotLetIn):
            desk.enter(*stranger)
    token = desk.enter("1", "ann@example.com")
    session = desk.sessions.of(token, HOUR_S)
    assert session is not None
    assert (session.name, session.by_provider, session.access.shop) == ("Ann", True, "main")
    assert desk.bindings() == [("1", None)]
    # The address may have a new owner by now; a bound person does not need one.
    with pytest.raises(NotLetIn):
        desk.enter("2", "ann@example.com")
    desk.enter("1")
    assert [one.action for one in desk.audit.newest(50)][2:] == [
        "account.invited", "sign_in.refused", "sign_in.refused", "account.bound", "sign_in.by_provider",
        "sign_in.refused", "sign_in.by_provider",
    ]  # fmt: skip
    assert "@" not in "".join(str(one.after) for one in desk.audit.newest(50))
    with desk.database.read() as counted:
        assert sum(counted.scalars(select(SignInRow.attempts))) == 3, "those who were refused"
    assert (desk.sessions.end(token), desk.sessions.end(token)) == ("a.b.c", None)


def test_an_invitation_is_for_one_account(desk: Desk) -> None:
    for _ in range(2):
        desk.invite("Ann", email="a@example.com")
    with pytest.raises(Conflict, match="belongs to Ann"):
        desk.invite("Bob", email="A@example.com")
    token = desk.enter("1", "a@example.com")
    with pytest.raises(Conflict, match="belongs to Ann"):
        desk.invite("Bob", subject="1")
    for _ in range(2):
        desk.accounts.unbind("Ann", by=TESTER)
    assert desk.sessions.of(token, HOUR_S) is None
    assert desk.audit.newest(50)[-1].action == "account.unbound"
    desk.invite("Bob", subject="1")
    session = desk.sessions.of(desk.enter("1"), HOUR_S)
    assert session is not None
    assert session.name == "Bob"
    with pytest.raises(NotFound):
        desk.invite("Cat", subject="3")


@pytest.mark.parametrize(
    "wrong",
    [{}, {"email": "a@b", "subject": "1"}, {"email": "no-address"}, {"subject": " "}, {"subject": "\n"}],
)
def test_invalid_invitations(desk: Desk, wrong: dict[str, str]) -> None:
    with pytest.raises(InputError):
        desk.invite("Ann", **wrong)


def test_an_account_without_a_password_accepts_none(desk: Desk) -> None:
    sign_ins = SignIns(desk.database)
    for guess in ("", "!", PASSWORD):
        assert sign_ins.by_password("Ann", guess, HERE, HOUR_S) is None


@pytest.mark.parametrize(("subjects", "let_in"), [("1111", 4), ("1234", 1)], ids=["one", "four"])
def test_concurrent_sign_ins_with_one_address(desk: Desk, race: Any, subjects: str, let_in: int) -> None:
    """One person is bound once; of several people with the same address, one gets in."""
    desk.invite("Ann", email="a@example.com")
    ends = race(4, lambda n: desk.enter(subjects[n], "a@example.com"))
    assert sum(isinstance(end, str) for end in ends) == let_in
    assert len(desk.bindings()) == 1


def test_long_id_tokens_are_not_stored(desk: Desk) -> None:
    desk.invite("Ann", subject="1")
    token = desk.enter("1", id_token="a" * (MAX_ID_TOKEN_CHARS + 1))
    session = desk.sessions.of(token, HOUR_S)
    assert session is not None
    assert session.by_provider
    assert desk.sessions.end(token) == ""


def test_the_command_line_invites_and_revokes(saycart: Callable[..., Result], desk: Desk) -> None:
    assert "SAYCART_OIDC_URL" in saycart("staff", "invite", "Ann", "--subject", "1").output
    saycart = partial(saycart, oidc_url=f"{ISSUER}?client_id=saycart")
    assert "staff invite 'cat'" in saycart("staff", "add", "cat", "--no-password").output
    done = saycart("staff", "invite", "Ann", "--email", "ann@example.com")
    assert (done.exit_code, "can sign in with your organisation" in done.output) == (0, True)
    assert "invited" in saycart("staff", "list").output
    desk.enter("1", "ann@example.com")
    assert "bound" in saycart("staff", "list").output
    assert saycart("staff", "unbind", "Ann").exit_code == 0
    assert desk.bindings() == []
    assert saycart("staff", "invite", "Ann").exit_code == 1
