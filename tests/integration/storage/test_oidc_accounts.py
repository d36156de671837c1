"""Who gets which account by a provider's word, on both databases: invitations, bindings, races, audit."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
from click.testing import Result
from sqlalchemy import select, update

from infra.settings import Settings
from infra.sql.database import Database
from schemas.errors import Conflict, InputError, NotFound
from schemas.shops.access import Role
from schemas.shops.audit import Actor
from schemas.shops.sign_in_errors import NotLetIn
from schemas.shops.staff import Identity
from services.bootstrap import Container
from services.storage.audit.log import AuditLog
from services.storage.base.tables_staff import OidcFlowRow, SignInRow, StaffOidcRow
from services.storage.people.provider_accounts import ProviderAccounts
from services.storage.people.provider_sign_in import MAX_ID_TOKEN_CHARS, ProviderSignIns
from services.storage.people.sessions import SessionStore
from services.storage.people.sign_in import SignIns
from services.storage.people.staff import StaffStore
from tests.integration.signing import HERE, HOUR_S, PASSWORD, cheap
from tests.stand_ins import TESTER

ISSUER = "https://login.example"
ROLES = {"baristas": ("main", Role.REVIEWER), "leads": ("main", Role.MANAGER), "pier": ("pier", Role.ADMIN)}


class Desk:
    """The stores of one database, and people who sign in."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.staff, self.sessions = StaffStore(database), SessionStore(database)
        self.accounts, self.audit = ProviderAccounts(database), AuditLog(database)

    def enter(
        self, who: Identity, roles: dict[str, tuple[str, Role]] | None = None, id_token: str = "a.b.c"
    ) -> str:
        """Sign in; the session's token."""
        store = ProviderSignIns(self.database, ROLES if roles is None else roles)
        counted = store.count(HERE.address)
        _, entered = store.enter(who, HERE, HOUR_S, id_token=id_token, counted=counted, by=Actor)
        return entered.token

    def bindings(self) -> list[tuple[str | None, str | None]]:
        with self.database.read() as session:
            return [tuple(row) for row in session.execute(select(StaffOidcRow.subject, StaffOidcRow.email))]

    def attempts(self) -> int:
        with self.database.read() as session:
            return sum(session.scalars(select(SignInRow.attempts)))

    def actions(self) -> list[str]:
        return [one.action for one in self.audit.newest(50)]


@pytest.fixture
def desk(database: Database, monkeypatch: pytest.MonkeyPatch) -> Desk:
    cheap(monkeypatch)
    return Desk(database)


def person(subject: str, *groups: str, email: str = "", name: str = "Ann") -> Identity:
    return Identity(ISSUER, subject, email, (name,) if name else (), frozenset(groups))


def test_the_highest_role_of_ones_groups_counts(desk: Desk) -> None:
    token = desk.enter(person("1", "baristas", "leads", "unheard of"))
    session = desk.sessions.of(token, HOUR_S)
    assert session is not None
    assert (session.name, session.by_provider, session.access.shop) == ("Ann", True, "main")
    (ann,) = desk.staff.list()
    assert (ann.role, ann.provider) == (Role.MANAGER, "bound")
    assert desk.actions() == ["account.added", "account.bound", "sign_in.by_provider"]
    assert all(verdict.fault is None for verdict in desk.audit.verify())
    assert desk.attempts() == 0
    assert desk.sessions.end(token) == "a.b.c"
    assert desk.sessions.end(token) is None


@pytest.mark.parametrize(
    ("who", "reason"),
    [
        (person("1"), "unknown"),
        (person("1", "elsewhere"), "unknown"),
        (person("1", "baristas", "pier"), "two_shops"),
        (person("1", "pier"), "no_shop"),
        (person("1", "baristas", name=""), "no_name"),
        (person("1", "baristas", name="a\u202eb"), "no_name"),
        (person("1", "baristas", name="Taken"), "name_taken"),
    ],
)
def test_who_gets_no_account(desk: Desk, who: Identity, reason: str) -> None:
    desk.staff.add("Taken", PASSWORD)
    desk.staff.disable("Taken")
    with pytest.raises(NotLetIn):
        desk.enter(who)
    (entry,) = desk.audit.newest(1)
    assert (entry.action, entry.actor, entry.object_id) == ("sign_in.refused", "oidc:1", "1")
    assert f'"reason":"{reason}"' in str(entry.after)
    assert [one.name for one in desk.staff.list()] == ["Taken"]
    assert (desk.bindings(), desk.attempts()) == ([], 1)


def test_an_account_that_groups_made_has_no_password(desk: Desk) -> None:
    desk.enter(person("1", "baristas"))
    sign_ins = SignIns(desk.database)
    for guess in ("", "!", PASSWORD):
        assert sign_ins.by_password("Ann", guess, HERE, HOUR_S) is None


def test_an_address_invites_one_person_once(desk: Desk) -> None:
    desk.staff.add("Ann", None)
    desk.accounts.invite("Ann", ISSUER, email="Ann@Example.com", by=TESTER)
    assert desk.bindings() == [(None, "ann@example.com")]
    with pytest.raises(NotLetIn):
        desk.enter(person("1", email="bob@example.com"), {})
    other = Identity("https://other.example", "1", "ann@example.com")
    with pytest.raises(NotLetIn):
        desk.enter(other, {})
    desk.enter(person("1", email="ann@example.com"), {})
    assert desk.bindings() == [("1", None)]
    # Whoever has the address now is somebody else; the one who is bound needs none.
    with pytest.raises(NotLetIn):
        desk.enter(person("2", email="ann@example.com"), {})
    desk.enter(person("1"), {})
    (ann,) = desk.staff.list()
    assert ann.role is Role.REVIEWER, "without groups in the settings the role is the one given here"


def test_an_invitation_is_for_one_account(desk: Desk) -> None:
    for name in ("Ann", "Bob"):
        desk.staff.add(name, None)
    desk.accounts.invite("Ann", ISSUER, email="a@example.com", by=TESTER)
    desk.accounts.invite("Ann", ISSUER, email="a@example.com", by=TESTER)
    with pytest.raises(Conflict, match="belongs to Ann"):
        desk.accounts.invite("Bob", ISSUER, email="A@example.com", by=TESTER)
    token = desk.enter(person("1", email="a@example.com"), {})
    with pytest.raises(Conflict, match="belongs to Ann"):
        desk.accounts.invite("Bob", ISSUER, subject="1", by=TESTER)
    desk.accounts.unbind("Ann", by=TESTER)
    desk.accounts.unbind("Ann", by=TESTER)
    assert desk.sessions.of(token, HOUR_S) is None
    assert desk.actions()[-1] == "account.unbound"
    desk.accounts.invite("Bob", ISSUER, subject="1", by=TESTER)
    session = desk.sessions.of(desk.enter(person("1"), {}), HOUR_S)
    assert session is not None
    assert session.name == "Bob"
    with pytest.raises(NotFound):
        desk.accounts.invite("Cat", ISSUER, subject="3", by=TESTER)
    for wrong in (
        {},
        {"email": "a@b", "subject": "1"},
        {"email": "nobody"},
        {"subject": " "},
        {"subject": "\n"},
    ):
        with pytest.raises(InputError):
            desk.accounts.invite("Ann", ISSUER, by=TESTER, **wrong)
    entries = [str(one.after) for one in desk.audit.newest(50)]
    assert "@" not in "".join(entries)


def at_once(*work: object) -> list[object]:
    """What each of these comes to, begun together; errors as they are."""
    ready = threading.Barrier(len(work))

    def run(one: object) -> object:
        ready.wait(10)
        try:
            return one()  # type: ignore[operator]
        except (NotLetIn, InputError) as error:
            return error

    with ThreadPoolExecutor(len(work)) as pool:
        return [*pool.map(run, work)]


def test_two_first_sign_ins_at_once_make_one_account(desk: Desk) -> None:
    found = at_once(*[lambda: desk.enter(person("1", "baristas"))] * 4)
    assert all(isinstance(one, str) for one in found)
    assert [one.name for one in desk.staff.list()] == ["Ann"]


def test_two_people_of_one_address_at_once_take_one_invitation(desk: Desk) -> None:
    desk.staff.add("Ann", None)
    desk.accounts.invite("Ann", ISSUER, email="a@example.com", by=TESTER)
    found = at_once(*[lambda n=n: desk.enter(person(str(n), email="a@example.com"), {}) for n in range(4)])
    assert sum(isinstance(one, str) for one in found) == 1
    assert len(desk.bindings()) == 1


def test_what_was_begun_is_taken_once_and_ends(desk: Desk) -> None:
    store = ProviderSignIns(desk.database, {})
    store.begin("token", "/review")
    assert store.take("another") is None
    assert sorted(map(bool, at_once(*[lambda: store.take("token")] * 4))) == [False, False, False, True]
    store.begin("token", "/review")
    with desk.database.write() as session:
        past = desk.database.now(session) - timedelta(seconds=1)
        session.execute(update(OidcFlowRow).values(expires_at=past))
    assert store.take("token") is None
    store.begin("next", "/review")
    with desk.database.read() as session:
        (row,) = session.scalars(select(OidcFlowRow))
    assert "next" not in row.token_hash


def test_an_id_token_is_kept_to_a_length(desk: Desk) -> None:
    token = desk.enter(person("1", "baristas"), id_token="a" * (MAX_ID_TOKEN_CHARS + 1))
    session = desk.sessions.of(token, HOUR_S)
    assert session is not None
    assert session.by_provider
    assert desk.sessions.end(token) == ""


def test_the_command_line_invites_and_takes_it_back(saycart: Callable[..., Result], desk: Desk) -> None:
    saycart = partial(saycart, oidc_url=f"{ISSUER}?client_id=saycart")
    assert "staff invite 'ann'" in saycart("staff", "add", "ann", "--no-password").output
    assert "Sign" not in saycart("staff", "list").output
    done = saycart("staff", "invite", "ann", "--email", "ann@example.com")
    assert (done.exit_code, "can sign in with your organisation" in done.output) == (0, True)
    assert "invited" in saycart("staff", "list").output
    desk.enter(person("1", email="ann@example.com"), {})
    assert "bound" in saycart("staff", "list").output
    assert saycart("staff", "unbind", "ann").exit_code == 0
    assert desk.bindings() == []
    assert saycart("staff", "invite", "ann").exit_code == 1
    (entry,) = (one for one in desk.audit.newest(9) if one.action == "account.invited")
    assert entry.actor.startswith("operator:")


def test_without_a_provider_there_are_no_invitations(
    saycart: Callable[..., Result], database: Database
) -> None:
    assert "SAYCART_OIDC_URL" in saycart("staff", "invite", "ann", "--subject", "1").output


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"oidc_url": "http://login.example?client_id=saycart"}, "no https address"),
        ({"oidc_url": ISSUER}, "no client id"),
        ({"oidc_roles": "baristas=main"}, "SAYCART_OIDC_ROLES"),
    ],
)
def test_settings_that_let_nobody_in_stop_the_start(tmp_path: Path, wrong: dict[str, str], says: str) -> None:
    right = {"oidc_url": f"{ISSUER}?client_id=saycart", "oidc_roles": "a=main:admin"}
    Container(Settings(home=tmp_path, **right)).close()
    with pytest.raises(InputError, match=says):
        Container(Settings(home=tmp_path, **{**right, **wrong}))
