"""Sign-in over HTTP: cookies, CSRF token, redirects, and the delay after guesses."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path

import httpx
import pytest
from sqlalchemy import select, update

from infra import passwords
from infra.passwords import AT_ONCE, QUEUE
from schemas.lifecycle import Event
from schemas.records.orders import NewOrder
from schemas.review import ReviewReason
from schemas.shops.access import Role
from schemas.transcript import Transcript
from services.storage.base.tables_staff import StaffSessionRow
from services.web.staff.staff import COOKIE, safe_next
from tests.integration import api_world
from tests.integration.api_world import MENU, World, running
from tests.integration.signing import PASSWORD, Counting, cheap
from tests.integration.signing import csrf_in as token_in

lone_world = api_world.lone_world


@pytest.fixture
def world(lone_world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    cheap(monkeypatch)
    lone_world.parts.staff.add("Ann", PASSWORD, role=Role.ADMIN)
    return lone_world


def sign_in(
    world: World, name: str = "Ann", password: str = PASSWORD, next: str = "/review"
) -> httpx.Response:
    return world.http.post("/sign-in", data={"name": name, "password": password, "next": next})


def test_a_staff_page_redirects_to_sign_in_and_back(world: World) -> None:
    sent = world.http.get("/review/stats?days=7")
    assert sent.status_code == 303
    assert sent.headers["location"] == "/sign-in?next=%2Freview%2Fstats%3Fdays%3D7"
    htmx = {"HX-Request": "true", "HX-Current-URL": f"{world.url}/review"}
    answer = world.http.get("/review", headers=htmx)
    assert (answer.status_code, answer.headers["hx-redirect"]) == (204, "/sign-in?next=%2Freview")
    form = world.http.get(sent.headers["location"])
    assert 'value="/review/stats?days=7"' in form.text
    done = sign_in(world, next="/review/stats?days=7")
    assert (done.status_code, done.headers["location"]) == (303, "/review/stats?days=7")
    assert world.http.get("/review/stats?days=7").status_code == 200
    assert world.http.get("/sign-in").status_code == 303


def test_statistics_show_how_many_orders_went_to_staff_and_why(world: World) -> None:
    world.text()
    world.doubted()
    sign_in(world)
    page = world.http.get("/review/stats").text
    assert '<dt>Sent to staff</dt><dd class="number">50%</dd>' in page
    assert "<span>not on the menu</span>" in page


def cookies_in(answer: httpx.Response) -> dict[str, str]:
    """Return the cookies that a response sets, with their attributes, by name."""
    return {line.partition("=")[0]: line for line in answer.headers.get_list("set-cookie")}


def test_cookies_are_http_only(world: World) -> None:
    found = cookies_in(sign_in(world))
    session = found.pop(COOKIE)
    for mark in ("HttpOnly", "SameSite=lax", "Path=/", "Max-Age=43200"):
        assert mark in session
    assert not found
    assert "Secure" not in session


def test_cookies_are_host_only_over_https(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cheap(monkeypatch)
    with (
        running(tmp_path, proxies="127.0.0.1") as world,
        httpx.Client(
            base_url=world.url,
            headers={"X-Forwarded-Proto": "https", "Origin": world.url.replace("http:", "https:")},
        ) as http,
    ):
        world.parts.staff.add("Ann", PASSWORD, role=Role.ADMIN)
        found = cookies_in(http.post("/sign-in", data={"name": "Ann", "password": PASSWORD}))
        assert {name.removeprefix("__Host-").partition("_")[0] for name in found} == {"saycart"}
        for name, cookie in found.items():
            assert name.startswith("__Host-")
            assert "Secure" in cookie
            assert "Path=/" in cookie
            assert "Domain" not in cookie
        token = found[f"__Host-{COOKIE}"].partition("=")[2].partition(";")[0]
        http.cookies.clear()  # httpx honors Secure, and this is plain HTTP
        assert http.get("/review", headers={"Cookie": f"__Host-{COOKIE}={token}"}).status_code == 200
        # A cookie that another host of the domain or plain HTTP may have set is ignored.
        assert http.get("/review", headers={"Cookie": f"{COOKIE}={token}"}).status_code == 303


def test_each_sign_in_starts_a_new_session(world: World) -> None:
    """Session fixation: a token that was planted before sign-in is useless."""
    planted = "0" * 43
    world.http.cookies.set(COOKIE, planted)
    sign_in(world)
    first = cookies_in(sign_in(world))[COOKIE]
    second = cookies_in(sign_in(world))[COOKIE]
    assert len({first, second, planted}) == 3
    # A new session ends this browser's old one.
    token = first.partition("=")[2].partition(";")[0]
    answer = httpx.get(f"{world.url}/review", headers={"Cookie": f"{COOKIE}={token}"})
    assert answer.status_code == 303


def test_a_poll_keeps_no_session_alive(world: World) -> None:
    sign_in(world)
    before = used_at(world)
    old = before - timedelta(minutes=30)
    with world.parts.database.everywhere().write() as session:
        session.execute(update(StaffSessionRow).values(used_at=old))
    poll = {"HX-Request": "true", "X-Saycart-Poll": "1"}
    assert world.http.get("/review", headers=poll).status_code == 200
    assert used_at(world) == old
    assert "X-Saycart-Poll" in world.http.get("/review").text
    assert used_at(world) > before


def used_at(world: World) -> datetime:
    with world.parts.database.everywhere().read() as session:
        return session.scalars(select(StaffSessionRow.used_at)).one()


def test_a_wrong_name_and_a_wrong_password_look_alike(world: World) -> None:
    for name, password in (("Ann", "a wrong guess"), ("nobody", PASSWORD), ("", "")):
        answer = sign_in(world, name, password)
        assert answer.status_code == 401
        assert "Wrong name or password." in answer.text
        assert "set-cookie" not in answer.headers


def test_a_burst_of_attempts_blocks_nobody_else(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixty concurrent hashes would take 2.2 GB and all server threads."""
    gate = threading.Event()

    class Held(Counting):
        def verify(self, stored: str, password: str) -> bool:
            assert gate.wait(30)
            return super().verify(stored, password)

    held = Held()
    monkeypatch.setattr(passwords, "_HASHER", held)

    def attempt(number: int) -> httpx.Response:
        data = {"name": f"nobody {number}", "password": PASSWORD}
        return httpx.post(f"{world.url}/sign-in", data=data, headers={"Origin": world.url}, timeout=40)

    with ThreadPoolExecutor(60) as pool:
        burst = [pool.submit(attempt, number) for number in range(60)]
        try:
            api_world.until(lambda: sum(one.done() for one in burst) == 60 - AT_ONCE - QUEUE, 30)
            # All of them wait for a hash now; other requests are answered.
            assert world.http.get("/v1/menus", timeout=10).status_code == 200
            assert httpx.get(f"{world.url}/sign-in", timeout=10).status_code == 200
        finally:
            gate.set()
        answers = [one.result() for one in burst]
    assert held.most <= AT_ONCE
    codes = Counter(answer.status_code for answer in answers)
    # Some must wait, since their address has too many attempts in progress.
    assert (codes[401], codes[429] + codes[503]) == (AT_ONCE + QUEUE, 60 - AT_ONCE - QUEUE)
    busy = next(answer for answer in answers if answer.status_code == 503)
    assert busy.headers["retry-after"] == "2"
    assert "Too many people are signing in" in busy.text


def test_a_change_without_the_sessions_token_is_refused(world: World) -> None:
    sign_in(world)
    for form in ({"x": "y"}, {"csrf": ""}, {"csrf": "0" * 64}, {"csrf": "é"}):
        answer = world.http.post("/sign-out", data=form)
        assert answer.status_code == 403
        assert "Reload it" in answer.text
        assert world.http.get("/review").status_code == 200


def test_signing_out_ends_the_session_in_the_database(world: World) -> None:
    sign_in(world)
    kept = world.http.cookies[COOKIE]
    page = world.http.get("/review")
    assert "Ann" in page.text
    assert world.http.post("/sign-out", data={"csrf": token_in(page)}).status_code == 303
    assert COOKIE not in world.http.cookies
    world.http.cookies.set(COOKIE, kept)
    assert world.http.get("/review").status_code == 303


def doubted(world: World, address: str) -> str:
    """Create an order in review for a browser at this address; return the review's id."""
    words = Transcript(text="a spaceship", confidence=1.0)
    sent = NewOrder(MENU["id"], 1, "en", transcript=words, client=f"page:k/{address}/b")
    order, _ = world.parts.orders.create(sent)
    world.advance(order.id, Event.DOUBTED, reasons=(ReviewReason.NOT_ON_MENU,))
    return str(world.parts.reviews.by_order(order.id).id)


def test_all_orders_of_a_visitor_can_be_rejected(world: World) -> None:
    """Except one that another reviewer has claimed."""
    flood, other = [doubted(world, "6.6.6.6") for _ in range(4)], doubted(world, "6.6.6.7")
    sign_in(world)
    world.http.headers["X-CSRF-Token"] = token_in(world.http.get("/review"))
    world.parts.reviews.claim(flood[1], "bob", 60)
    world.http.post(f"/review/{flood[0]}/claim")
    assert "Reject all 4 from this address" in world.http.get(f"/review/{flood[0]}").text
    form = {"version": world.parts.reviews.get(flood[0]).version, "action": "reject", "all": "yes"}
    for sent, status in ((form, 422), ({"reason": "x"}, 422), (form | {"reason": "prank"}, 303)):
        assert world.http.post(f"/review/{flood[0]}/decide", data=sent).status_code == status
    statuses = [world.parts.reviews.get(review_id).status for review_id in (*flood, other)]
    assert statuses == ["decided", "claimed", "decided", "decided", "claimed"], "the last is Ann's next"
    audited = [entry.object_id for entry in world.parts.audit.entries(action="review.decided")]
    assert audited == [flood[0], *flood[2:]]


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
        *("/ａ", "/café", "//["),  # no header can carry it; no URL at all
    ],
)
def test_the_redirect_is_never_to_another_site(wanted: str) -> None:
    assert safe_next(wanted) == "/review"
