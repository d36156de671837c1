"""Administration over HTTP: permissions, effects and audit entries of each action, secrets shown once."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from pyotp import TOTP
from sqlalchemy import update
from standardwebhooks.webhooks import Webhook

from schemas.shops.access import Role, Scope
from schemas.shops.settings import Acceptance, Brand, Keeping, logo_url
from schemas.shops.staff import Halfway
from services.storage.base.tables_staff import StaffSessionRow
from services.web.staff.admin.routes import PAGES
from services.web.staff.staff import SESSION_S
from tests.integration.api_world import World, running
from tests.integration.signing import PASSWORD, cheap, csrf_in
from tests.servers.loopback import Handler, serving
from tests.stand_ins import TESTER

LOGO = {"logo": ("a.svg", b"<svg xmlns='http://www.w3.org/2000/svg'/>")}


@pytest.fixture
def world(tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """An API with the admins Ann and, in another shop, Oscar."""
    cheap(monkeypatch)
    login = {"oidc_url": "https://login.example/?client_id=x&name=Login", "oidc_client_secret": "x"}
    with running(tmp_path, database_url, webhook_endpoints="private", **login) as world:
        world.parts.shops.add("other", "The other shop", by=TESTER)
        world.parts.staff.add("Ann", PASSWORD, role=Role.ADMIN)
        world.parts.staff.add("Oscar", PASSWORD, role=Role.ADMIN, shop="other")
        yield world


@contextmanager
def signed_in(world: World, name: str = "Ann") -> Iterator[httpx.Client]:
    with httpx.Client(base_url=world.url, headers={"Origin": world.url}, timeout=30) as http:
        assert http.post("/sign-in", data={"name": name, "password": PASSWORD}).status_code == 303
        yield http


def act(http: httpx.Client, action: str, password: str = PASSWORD, **fields: Any) -> httpx.Response:
    """Send a form to a path below `/staff/admin/`."""
    files = fields.pop("files", None)
    data = {"csrf": csrf_in(http.get("/account")), "current": password, **fields}
    return http.post(f"/staff/admin/{action}", data=data, files=files)


def secret_in(answer: httpx.Response) -> str:
    found = re.search(r'class="secret">([^<]+)<', answer.text)
    assert found is not None, answer.text
    return html.unescape(found[1])


def acts(world: World, name: str = "Ann") -> list[str]:
    """Return a person's audit entries."""
    return [one.action for one in world.parts.audit.entries() if one.actor == f"staff:{name}"]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("role", [Role.REVIEWER, Role.MANAGER, Role.ADMIN])
def test_roles_limit_pages_and_actions(world: World, role: Role) -> None:
    may = role is Role.ADMIN
    world.parts.staff.add("Cleo", PASSWORD, role=role)
    calls = [(page, action) for page, (_, actions) in PAGES.items() for action in actions]
    assert len(calls) == 14
    with signed_in(world, "Cleo") as http:
        assert ('href="/staff/admin"' in http.get("/account").text) is may
        for page in ("", *(f"/{page}" for page in PAGES)):
            assert http.get(f"/staff/admin{page}").status_code == (200 if may else 403), page
        assert ("You need the role admin." in http.get("/staff/admin").text) is not may
        for page, action in calls:  # of nothing: an admin is told what is missing
            status = act(http, f"{page}/{action}").status_code
            assert status in ((404, 422) if may else (403,)), (page, action)
        assert act(http, "webhooks/whk_none/test").status_code == (404 if may else 403)
        fine = {"name": "x", "scope": "orders:read", "current": PASSWORD}
        assert http.post("/staff/admin/keys/add", data=fine).status_code == 403, "no token"
        for password in ("", "another long one"):
            assert act(http, "keys/add", password, name="x", scope="orders:read").status_code != 200
    assert acts(world, "Cleo") == []
    assert httpx.get(f"{world.url}/staff/admin/keys").headers["location"].startswith("/sign-in?")


def test_a_key_is_shown_once_and_works_until_it_is_revoked(world: World) -> None:
    with signed_in(world) as http:
        token = secret_in(act(http, "keys/add", name="till", scope=["orders:read", "reviews"], person="Ann"))
        _, key_id, secret = token.split("_", 2)
        assert secret not in http.get("/staff/admin/keys").text
        access = world.parts.keys.access(token)
        assert (access.scopes, access.person) == ({Scope.ORDERS_READ, Scope.REVIEWS}, "Ann")
        assert act(http, "keys/revoke", key=key_id).status_code == 303
        assert world.parts.keys.access(token) is None
        assert act(http, "keys/add-page", page="counter").status_code == 303
        found = re.search(r'href="/at/(\w+)"', http.get("/staff/admin/keys").text)
        assert found is not None
        assert world.parts.keys.page_access(found[1]).shop == "main"
    assert acts(world) == ["key.added", "key.revoked", "key.added"]


def test_the_life_of_an_account(world: World) -> None:
    def signs_in(password: str) -> bool:
        return world.parts.sign_ins.by_password("Dan <b>", password, "192.0.2.1", 60) is not None

    with signed_in(world) as http:
        first = secret_in(act(http, "people/add", name="Dan <b>", role="reviewer"))
        assert signs_in(first)
        assert first not in http.get("/staff/admin/people").text
        assert act(http, "people/role", account="Dan <b>", role="manager").status_code == 303
        assert ("Dan <b>", Role.MANAGER) in [(one.name, one.role) for one in world.parts.staff.list()]
        act(http, "people/invite", account="Dan <b>", email="dan@example.com")
        assert "invited to Login" in http.get("/staff/admin/people").text
        assert act(http, "people/unbind", account="Dan <b>").status_code == 303
        assert "invited to Login" not in http.get("/staff/admin/people").text
        second = secret_in(act(http, "people/password", account="Dan <b>"))
        assert (signs_in(first), signs_in(second)) == (False, True)
        assert act(http, "people/block", account="Dan <b>").status_code == 303
        assert not signs_in(second)
        assert "blocked" in http.get("/staff/admin/people").text
    assert acts(world) == [
        *("account.added", "account.role", "account.invited", "account.unbound", "password.set"),
        "account.disabled",
    ]


def test_a_person_who_lost_their_phone_signs_in_with_the_password(world: World) -> None:
    world.parts.staff.add("Dan", PASSWORD)
    enter = partial(world.parts.sign_ins.by_password, "Dan", PASSWORD, "192.0.2.1", 60)
    session = world.parts.sessions.of(enter(), 60)
    world.parts.second_steps.begin(session)
    world.parts.second_steps.confirm(session, TOTP(world.parts.second_steps.secret(session)).now(), by=TESTER)
    assert isinstance(enter(), Halfway)
    with signed_in(world) as http:
        assert act(http, "people/second-step", account="Dan").status_code == 303
        token = enter()
        assert world.parts.sessions.of(token, 60) is not None
        assert act(http, "people/sign-out", account="Dan").status_code == 303
        assert world.parts.sessions.of(token, 60) is None
    assert acts(world) == ["second_step.off", "account.signed_out"]


def test_the_life_of_an_endpoint(world: World) -> None:
    got: list[tuple[dict[str, str], bytes]] = []

    class Receiver(Handler):
        def do_POST(self) -> None:
            got.append((dict(self.headers), self.body()))
            self.answer(204) if len(got) == 1 else self.answer(500, b"inner words")

    with serving(Receiver) as url, signed_in(world) as http:
        fields = {"url": f"{url}/t0ken", "event": ["order.completed"], "till": "square", "location": "L1"}
        secret = secret_in(act(http, "webhooks/add", **fields))
        (made,) = world.parts.endpoints.list()
        assert (made.events, made.till) == (("order.completed",), "square")
        assert not re.search(rf"t0ken|{re.escape(secret)}", http.get("/staff/admin/webhooks").text)
        assert "It answered 204." in act(http, f"webhooks/{made.id}/test").text
        message = Webhook(secret).verify(got[0][1], got[0][0])
        assert (message["type"], message["data"]["status"]) == ("order.test", "cancelled")
        refused = act(http, f"webhooks/{made.id}/test").text
        assert ("It answered 500." in refused, "inner words" in refused) == (True, False)
        with signed_in(world, "Oscar") as stranger:
            assert act(stranger, f"webhooks/{made.id}/test").status_code == 404
        assert act(http, "webhooks/remove", endpoint=made.id).status_code == 303
    assert world.parts.endpoints.list() == []
    assert acts(world) == ["webhook.added", "webhook.removed"]


def test_settings_are_saved_whole_or_not_at_all(world: World) -> None:
    fine = {"name": "Harbor", "colour": "#0a7", "recordings": "7", "transcripts": "default",
            "orders": "forever"}  # fmt: skip
    before = world.parts.shops.get("other")
    with signed_in(world, "Oscar") as http:
        for wrong in ({"recordings": "0"}, {"colour": "red"}, {"name": " "}):
            assert act(http, "settings/save", **(fine | wrong)).status_code == 422
            assert world.parts.shops.get("other") == before
        answer = act(http, "settings/save", **fine, files={"logo": ("a.svg", b"x" * 9000)})
        assert "at most 8 kB" in answer.text
        assert 'value="#0a7"' in answer.text, "what was typed stays"
        act(http, "settings/save", **fine, allergies="yes", files=LOGO)
        page = http.get("/staff/admin/settings").text
        ticked = re.findall(r'name="(\w+)" value="yes" checked', page)
        assert 'Longest recording (s)</span><span class="number">60<' in page
        act(http, "settings/save", **fine, second_step="yes", at_once="yes")
    shop = world.parts.shops.get("other")
    assert (shop.accepts, ticked) == (Acceptance(at_once=True), ["allergies"])
    assert shop.brand == Brand("Harbor", "#00aa77", logo_url(LOGO["logo"][1]))
    assert (shop.keeps, shop.needs_second_step) == (Keeping(7, None, "forever"), True)
    changed = ("brand", "accepts", "keeps", "second_step", "accepts")
    assert acts(world, "Oscar") == [f"shop.{what}" for what in changed]


def test_half_a_character_is_no_text(world: World) -> None:
    body = b'--B\r\nContent-Disposition: form-data; name="name"\r\n\r\n+2AA-\r\n--B--\r\n'
    kind = {
        "Content-Type": "multipart/form-data; boundary=B; charset=utf-7",
        "Origin": str(world.http.base_url).rstrip("/"),
    }
    answer = world.http.post("/sign-in", content=body, headers=kind)
    assert (answer.status_code, "not text" in answer.text) == (400, True)


REFUSED: list[tuple[str, dict[str, str], int, str]] = [
    ("keys/add", {"name": "x", "scope": "metrics"}, 403, "needs the scope metrics"),
    ("keys/add", {"name": "x", "scope": "admin", "days": "soon"}, 422, "is not a number of days"),
    ("keys/add-page", {"page": " "}, 422, "1 to 80 printable"),
    ("keys/add-page", {"page": "\x1b[2J"}, 422, "1 to 80 printable"),
    ("keys/revoke", {"key": "KEY"}, 404, "No api key"),
    ("people/add", {"name": "Bea", "role": "owner"}, 422, "Unknown role"),
    ("people/invite", {"account": "Oscar", "email": "a@b.c"}, 404, "No account"),
    ("people/sign-out", {"account": "Oscar"}, 404, "No account"),
    ("people/second-step", {"account": "Oscar"}, 404, "No account"),
    ("people/unbind", {"account": "Oscar"}, 404, "No account"),
    ("people/add", {"name": "Oscar", "role": "reviewer"}, 409, "account &#39;Oscar&#39; already exists"),
    ("people/role", {"account": "Ann", "role": "reviewer"}, 409, "change your own account"),
    ("people/role", {"account": "Oscar", "role": "reviewer"}, 404, "No account"),
    ("webhooks/add", {"url": "https://8.8.8.8/", "till": "square"}, 422, "Name its location"),
    ("webhooks/remove", {"endpoint": "ENDPOINT"}, 404, "No webhook endpoint"),
]


def test_refusals_explain_and_change_nothing(world: World) -> None:
    """This includes objects of the other shop, which are not found."""
    ids = {
        "KEY": world.parts.keys.add("other", "theirs", [Scope.ADMIN], by=TESTER)[0].id,
        "ENDPOINT": world.parts.endpoints.add("other", "https://8.8.8.8/", by=TESTER)[0].id,
    }
    stores = (world.parts.keys, world.parts.endpoints, world.parts.staff)
    before = [store.list() for store in stores]
    with signed_in(world) as http:
        for action, fields, status, says in REFUSED:
            answer = act(http, action, **{name: ids.get(value, value) for name, value in fields.items()})
            assert (answer.status_code, says in answer.text) == (status, True), answer.text
            assert [store.list() for store in stores] == before, action
        for page in PAGES:
            assert not re.search(r"theirs|Oscar|8\.8\.8", http.get(f"/staff/admin/{page}").text)


def test_without_a_password_a_recent_sign_in_is_needed(world: World) -> None:
    with signed_in(world) as http:
        for age_s, status in ((60, 200), (700, 403)):
            end = datetime.now(UTC) + timedelta(seconds=SESSION_S - age_s)
            with world.parts.database.everywhere().write() as session:
                session.execute(update(StaffSessionRow).values(id_token="x", expires_at=end))
            assert act(http, "keys/add", "", name="x", scope="orders:read").status_code == status
