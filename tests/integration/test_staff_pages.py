"""Signing in over HTTP: the cookie, the CSRF token, where one is sent, and the wait after guesses."""

from __future__ import annotations

import re

import api_world
import httpx
import pytest
from api_world import World

from services.storage.staff import FREE_ATTEMPTS
from services.web.staff import COOKIE, safe_next

lone_world = api_world.lone_world

PASSWORD = "correct horse battery"


@pytest.fixture
def world(lone_world: World) -> World:
    lone_world.parts.staff.add("Ann", PASSWORD)
    return lone_world


def sign_in(
    world: World, name: str = "Ann", password: str = PASSWORD, next: str = "/review"
) -> httpx.Response:
    return world.http.post("/sign-in", data={"name": name, "password": password, "next": next})


def token_in(page: httpx.Response) -> str:
    found = re.search(r'name="csrf" value="([0-9a-f]{64})"', page.text)
    assert found is not None, page.text
    return found[1]


def test_a_page_for_staff_asks_to_sign_in_and_comes_back(world: World) -> None:
    sent = world.http.get("/review/stats?days=7")
    assert sent.status_code == 303
    assert sent.headers["location"] == "/sign-in?next=%2Freview%2Fstats%3Fdays%3D7"
    form = world.http.get(sent.headers["location"])
    assert 'value="/review/stats?days=7"' in form.text
    done = sign_in(world, next="/review/stats?days=7")
    assert (done.status_code, done.headers["location"]) == (303, "/review/stats?days=7")
    assert world.http.get("/review/stats?days=7").status_code == 200
    assert world.http.get("/sign-in").status_code == 303


def test_the_cookie_is_out_of_reach_for_scripts(world: World) -> None:
    cookie = sign_in(world).headers["set-cookie"]
    assert cookie.startswith(f"{COOKIE}=")
    for mark in ("HttpOnly", "SameSite=lax", "Path=/", "Max-Age=43200"):
        assert mark in cookie
    assert "Secure" not in cookie


def test_htmx_is_sent_to_the_whole_page(world: World) -> None:
    headers = {"HX-Request": "true", "HX-Current-URL": f"{world.url}/review"}
    answer = world.http.get("/review/queue", headers=headers)
    assert answer.status_code == 204
    assert answer.headers["hx-redirect"] == "/sign-in?next=%2Freview"


@pytest.mark.parametrize(("name", "password"), [("Ann", "a wrong guess"), ("nobody", PASSWORD), ("", "")])
def test_a_wrong_name_and_a_wrong_password_look_alike(world: World, name: str, password: str) -> None:
    answer = sign_in(world, name, password)
    assert answer.status_code == 401
    assert "Name or password is not right." in answer.text
    assert "set-cookie" not in answer.headers


def test_guessing_has_to_wait(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.storage.staff.FIRST_WAIT_S", 60)
    for _ in range(FREE_ATTEMPTS):
        assert "not right" in sign_in(world, password="a wrong guess").text
    answer = sign_in(world)
    assert answer.status_code == 401
    assert "Too many attempts" in answer.text


@pytest.mark.parametrize("token", [None, "", "0" * 64, "é"])
def test_a_change_without_the_sessions_token_is_refused(world: World, token: str | None) -> None:
    sign_in(world)
    answer = world.http.post("/sign-out", data={"x": "y"} if token is None else {"csrf": token})
    assert answer.status_code == 403
    assert "load it again" in answer.text
    assert world.http.get("/review").status_code == 200


def test_another_sessions_token_does_not_do(world: World) -> None:
    sign_in(world)
    foreign = token_in(world.http.get("/review"))
    world.http.cookies.clear()
    sign_in(world)
    assert token_in(world.http.get("/review")) != foreign
    assert world.http.post("/sign-out", data={"csrf": foreign}).status_code == 403


def test_signing_out_ends_the_session_in_the_database(world: World) -> None:
    sign_in(world)
    kept = world.http.cookies[COOKIE]
    page = world.http.get("/review")
    assert "Ann" in page.text
    assert world.http.post("/sign-out", data={"csrf": token_in(page)}).status_code == 303
    assert COOKIE not in world.http.cookies
    world.http.cookies.set(COOKIE, kept)
    assert world.http.get("/review").status_code == 303


def test_a_disabled_account_is_out_with_its_next_click(world: World) -> None:
    sign_in(world)
    world.parts.staff.disable("Ann")
    assert world.http.get("/review").status_code == 303


def test_the_form_of_another_site_is_refused(world: World) -> None:
    answer = world.http.post(
        "/sign-in", data={"name": "Ann", "password": PASSWORD}, headers={"Sec-Fetch-Site": "cross-site"}
    )
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    "wanted",
    [
        "https://evil.example/",
        "//evil.example",
        "/\\evil.example",
        "javascript:alert(1)",
        "review",
        "",
        "/a\nb",
    ],
)
def test_nobody_is_sent_to_another_site(wanted: str) -> None:
    assert safe_next(wanted) == "/review"


def test_paths_of_ours_are_kept() -> None:
    assert safe_next("/menu/harbor-coffee?x=1") == "/menu/harbor-coffee?x=1"
