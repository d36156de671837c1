"""Account pages over HTTP: second factor, sessions and password."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from infra.settings import settings
from services.cli.main import app
from services.storage.audit.log import AuditLog
from services.storage.people import attempts
from services.storage.people.attempts import NARROW
from services.web.staff.staff import COOKIE
from tests.integration import api_world
from tests.integration.api_world import World, running
from tests.integration.signing import PASSWORD, cheap, code_at, csrf_in
from tests.stand_ins import TESTER

lone_world = api_world.lone_world

NEW = "another long one"


@pytest.fixture
def world(lone_world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    cheap(monkeypatch)
    monkeypatch.setattr(attempts, "FIRST_WAIT_S", 300)
    lone_world.parts.staff.add("Ann", PASSWORD)
    sign_in(lone_world.http)
    return lone_world


@pytest.fixture
def strict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """Like `world`, but the shop requires a second factor."""
    cheap(monkeypatch)
    with running(tmp_path) as world:
        world.parts.shops.require_second_step("main", True, by=TESTER)
        world.parts.staff.add("Ann", PASSWORD)
        sign_in(world.http)
        yield world


@pytest.fixture
def other(world: World) -> Iterator[httpx.Client]:
    """Another browser, not signed in."""
    with httpx.Client(base_url=world.url, timeout=40, headers={"Origin": world.url}) as http:
        yield http


def sign_in(http: httpx.Client, password: str = PASSWORD, next: str = "/review") -> httpx.Response:
    return http.post("/sign-in", data={"name": "Ann", "password": password, "next": next})


def act(http: httpx.Client, path: str, **fields: str) -> httpx.Response:
    """Send a form of the account pages with the session's CSRF token."""
    csrf = csrf_in(http.get("/account", follow_redirects=True))
    return http.post(f"/account/{path}", data={"csrf": csrf, **fields})


def secret_in(page: httpx.Response) -> str:
    found = re.search(r'class="secret">([A-Z2-7 ]+)<', page.text)
    assert found is not None, page.text
    return found[1].replace(" ", "")


def enrol(world: World) -> tuple[str, list[str]]:
    """Set up the second factor; return its secret and recovery codes."""
    begun = act(world.http, "second-step", current=PASSWORD)
    assert (begun.status_code, begun.headers["location"]) == (303, "/account/second-step")
    secret = secret_in(world.http.get("/account/second-step"))
    done = act(world.http, "second-step/confirm", code=code_at(world.parts.database, secret, -1))
    assert done.status_code == 200, done.text
    codes = re.findall(r"<li><code>([a-z2-7-]{19})</code>", done.text)
    assert len(codes) == 10
    return secret, codes


def test_enrolling_and_signing_in_with_a_code(world: World, other: httpx.Client) -> None:
    secret, codes = enrol(world)
    page = world.http.get("/account").text
    assert "10 recovery codes left" in page
    assert secret not in page
    assert codes[0] not in page
    assert world.http.get("/account/second-step").status_code == 303
    # The password alone gives no access, and leads to the next step.
    half = sign_in(other, next="/review/stats")
    assert half.headers["location"] == "/sign-in/code?next=%2Freview%2Fstats"
    assert COOKIE not in other.cookies
    step = half.headers["set-cookie"]
    for mark in ("saycart_step=", "HttpOnly", "SameSite=strict", "Max-Age=300"):
        assert mark in step
    assert other.get("/review").status_code == 303
    assert 'value="/review/stats"' in other.get(half.headers["location"]).text
    wrong = other.post("/sign-in/code", data={"code": "000000", "next": "/review/stats"})
    assert wrong.status_code == 401
    assert "Wrong code" in wrong.text
    right = {"code": code_at(world.parts.database, secret), "next": "/review/stats"}
    done = other.post("/sign-in/code", data=right)
    assert (done.status_code, done.headers["location"]) == (303, "/review/stats")
    assert other.get("/review").status_code == 200
    (used,) = (one for one in AuditLog(world.parts.database).entries() if one.action == "second_step.on")
    assert (used.actor, used.address, bool(used.request_id)) == ("staff:Ann", "127.0.0.1", True)


@pytest.mark.parametrize("cookie", ["", "x", "0" * 43])
def test_a_code_without_a_password_is_useless(world: World, other: httpx.Client, cookie: str) -> None:
    secret, _ = enrol(world)
    if cookie:
        other.cookies.set("saycart_step", cookie)
    assert other.get("/sign-in/code").headers["location"] == "/sign-in?next=%2Freview&late=1"
    answer = other.post("/sign-in/code", data={"code": code_at(world.parts.database, secret)})
    assert answer.headers["location"] == "/sign-in?next=%2Freview&late=1"
    assert COOKIE not in other.cookies
    assert "took too long" in other.get("/sign-in?late=1").text


def test_every_change_needs_a_session_and_its_token(world: World, other: httpx.Client) -> None:
    fields = {"current": PASSWORD, "new": NEW, "again": NEW, "code": "000000"}
    steps = [f"second-step{step}" for step in ("", "/confirm", "/codes", "/off")]
    for path in ("password", "sign-out-everywhere", *steps):
        assert world.http.post(f"/account/{path}", data=fields).status_code == 403, path
        assert other.post(f"/account/{path}", data=fields).headers["location"].startswith("/sign-in"), path
        assert world.http.get("/account").status_code == 200, path


@pytest.mark.parametrize("path", ["password", "second-step", "second-step/codes", "second-step/off"])
def test_lasting_changes_need_the_password(world: World, path: str) -> None:
    answer = act(world.http, path, current="a wrong guess", new=NEW, again=NEW)
    assert answer.status_code == 422
    assert "not your current password" in answer.text
    for _ in range(NARROW.free - 1):
        act(world.http, path, current="a wrong guess", new=NEW, again=NEW)
    answer = act(world.http, path, current=PASSWORD, new=NEW, again=NEW)
    assert answer.status_code == 429
    assert int(answer.headers["retry-after"]) > 0


def test_changing_the_password_ends_other_sessions(world: World, other: httpx.Client) -> None:
    sign_in(other)
    unlike = act(world.http, "password", current=PASSWORD, new=NEW, again=NEW + "r")
    assert (unlike.status_code, "The new passwords" in unlike.text) == (422, True)
    short = act(world.http, "password", current=PASSWORD, new="short", again="short")
    assert (short.status_code, "12 to 200" in short.text) == (422, True)
    done = act(world.http, "password", current=PASSWORD, new=NEW, again=NEW)
    assert done.headers["location"] == "/account?done=password"
    assert "You were signed out everywhere else" in world.http.get("/account?done=password").text
    assert other.get("/review").status_code == 303
    assert sign_in(other).status_code == 401
    assert sign_in(other, NEW).status_code == 303


def test_signing_out_everywhere(world: World, other: httpx.Client) -> None:
    sign_in(other)
    assert act(world.http, "sign-out-everywhere").headers["location"] == "/sign-in"
    for http in (world.http, other):
        assert http.get("/review").status_code == 303
    assert COOKIE not in world.http.cookies


def test_a_required_second_factor_comes_first(strict: World) -> None:
    for path in ("/review", "/review/stats", "/account", "/menu/corner-cafe/edit"):
        answer = strict.http.get(path)
        if answer.status_code != 404:
            assert (answer.status_code, answer.headers["location"]) == (303, "/account/second-step"), path
    # Public pages don't recognize them.
    assert "Ann" not in strict.http.get("/menu").text
    assert "Everyone here needs a code to sign in" in strict.http.get("/account/second-step").text
    csrf = {"csrf": csrf_in(strict.http.get("/account/second-step"))}
    for path in ("/review/next", "/account/password", "/account/sign-out-everywhere"):
        assert strict.http.post(path, data=csrf).headers["location"] == "/account/second-step"
    enrol(strict)
    assert strict.http.get("/review").status_code == 200
    kept = act(strict.http, "second-step/off", current=PASSWORD)
    assert (kept.status_code, "Everyone here" in kept.text) == (409, True)


def test_a_shops_requirement_applies_to_its_open_sessions(world: World, other: httpx.Client) -> None:
    world.parts.shops.add("elsewhere", "Elsewhere", by=TESTER)
    world.parts.staff.add("Bob", PASSWORD, shop="elsewhere")
    other.post("/sign-in", data={"name": "Bob", "password": PASSWORD})
    assert [http.get("/review").status_code for http in (world.http, other)] == [200, 200]
    world.parts.shops.require_second_step("main", True, by=TESTER)
    assert world.http.get("/review").headers["location"] == "/account/second-step"
    assert other.get("/review").status_code == 200
    (entry,) = world.parts.audit.newest(5, shop="main", action="shop.second_step")
    assert entry.after == '{"needed":true}'


def test_a_person_who_must_enrol_may_sign_out(strict: World) -> None:
    csrf = csrf_in(strict.http.get("/account/second-step"))
    assert strict.http.post("/sign-out", data={"csrf": csrf}).headers["location"] == "/sign-in"
    assert COOKIE not in strict.http.cookies


def test_the_command_line_signs_out_and_resets(
    world: World, other: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAYCART_HOME", str(world.parts.settings.home))
    settings.cache_clear()
    try:
        enrol(world)
        assert re.search(r"Ann .* on", CliRunner().invoke(app, ["staff", "list"]).output)
        done = CliRunner().invoke(app, ["staff", "sign-out", "Ann"])
        assert (done.exit_code, done.output) == (0, "Ann is signed out everywhere\n")
        (entry,) = world.parts.audit.newest(1, action="account.signed_out")
        assert (entry.object_id, entry.actor.partition(":")[0]) == ("Ann", "operator")
        assert world.http.get("/review").status_code == 303
        assert CliRunner().invoke(app, ["staff", "totp-reset", "Ann"]).exit_code == 0
        assert sign_in(other).headers["location"] == "/review"
        for command in ("sign-out", "totp-reset"):
            assert CliRunner().invoke(app, ["staff", command, "nobody"]).exit_code == 1
    finally:
        settings.cache_clear()
