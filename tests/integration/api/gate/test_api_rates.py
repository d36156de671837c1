"""Rate limits over HTTP: who is refused, with which response, and who at the same address is not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from structlog.testing import CapturingLogger

from infra.settings import Settings
from schemas.shops.access import Role
from schemas.shops.audit import Actor
from services.api import problems
from services.api.gate import middleware
from tests.credentials import header_for
from tests.integration.api_world import MENU, World, expect_problem, running, wav
from tests.integration.signing import csrf_in
from tests.waiting import in_one_minute

BY = Actor("tests")
TEXT = {"transcript": "a latte", "menu": MENU["id"]}
WRONG = {"Authorization": f"Bearer saycart_0000000000_{'A' * 43}"}
ELSEWHERE = "127.0.0.2"


@contextmanager
def limited(home: Path, **settings: Any) -> Iterator[World]:
    """An API with these limits, started early enough in a minute."""
    with running(home, **settings) as world:
        in_one_minute()
        yield world


def together(ask: Any, times: int) -> Counter[int]:
    """Send concurrent requests; count the status codes."""
    with ThreadPoolExecutor(16) as pool:
        return Counter(answer.status_code for answer in pool.map(lambda _: ask(), range(times)))


def limited_of(world: World) -> dict[str, int]:
    """Return the refusals in /metrics."""
    lines = world.http.get("/metrics", headers=world.bearing("scraper")).text.splitlines()
    found = [line for line in lines if line.startswith("saycart_requests_limited_total{")]
    return {line.split('"')[1]: int(float(line.rpartition(" ")[2])) for line in found}


def test_a_key_is_limited_and_no_other_key(tmp_path: Path) -> None:
    with limited(tmp_path, key_requests_per_minute=30) as world:
        ann = header_for(world.parts.database)
        assert together(lambda: world.http.get("/v1/menus", headers=ann), 40) == {200: 30, 429: 10}
        refused = world.http.post("/v1/orders", json=TEXT, headers=ann)
        found = expect_problem(refused, 429, "too_many_requests")
        assert (found["retryable"], refused.headers["connection"]) == (True, "close")
        assert 1 <= int(refused.headers["retry-after"]) <= 63
        other = world.http.get("/v1/menus")
        assert (other.status_code, "connection" in other.headers) == (200, False), "another key of the shop"
        assert world.http.get("/problems/too_many_requests").status_code == 200
        assert limited_of(world)["key"] == 11


def test_a_shop_is_limited_and_no_other_shop(tmp_path: Path) -> None:
    with limited(tmp_path, key_requests_per_minute=4) as world:
        world.parts.shops.add("other", "The other shop", by=BY)
        other = header_for(world.parts.database, person="eve", shop="other")
        keys = [header_for(world.parts.database) for _ in range(6)]
        got = Counter[int]()
        for key in keys:
            got += together(lambda key=key: world.http.get("/v1/menus", headers=key), 10)
        assert got == {200: 20, 429: 40}
        assert world.http.get("/v1/menus", headers=other).status_code == 200


def test_menu_imports_are_limited_by_shop(tmp_path: Path) -> None:
    with limited(tmp_path, shop_menus_per_hour=3) as world:
        world.parts.shops.add("other", "The other shop", by=BY)
        other = header_for(world.parts.database, person="eve", shop="other")

        def bring(number: int, **more: Any) -> httpx.Response:
            menu = MENU | {"id": f"menu-{number}"}
            return world.http.put(f"/v1/menus/menu-{number}", json=menu, **more)

        assert [bring(number).status_code for number in range(5)] == [201] * 3 + [429] * 2
        assert int(bring(6).headers["retry-after"]) > 60
        assert [bring(number, headers=other).status_code for number in range(3)] == [201] * 3
        with signed_in(world) as ann:
            marked = ann.post(f"/menu/{MENU['id']}/mark", data={"mark": "latte///no"})
            assert marked.status_code == 429, "pages are no way around it"
        assert world.http.get("/v1/menus").status_code == 200


def test_requests_without_a_key_count_for_the_address(tmp_path: Path) -> None:
    with limited(tmp_path, address_requests_per_minute=10) as world, world.browser() as anybody:
        assert together(lambda: anybody.get("/v1/orders"), 25) == {401: 10, 429: 15}
        for probe in ("/livez", "/readyz"):
            assert together(lambda probe=probe: anybody.get(probe), 25) == {200: 25}
        assert world.http.get("/v1/orders").status_code == 200, "a key behind the same address"
        assert together(lambda: anybody.get("/"), 25) == {200: 10, 429: 15}, "counted apart from those"
        shown = anybody.get("/")
        assert shown.headers["content-type"].startswith("text/html")
        assert "Too many requests came from this address without a valid key; try again in" in shown.text
        assert anybody.get("/sign-in").status_code == 429
        with world.browser(ELSEWHERE) as other:
            assert other.get("/").status_code == 200
        assert limited_of(world)["address"] == 32


def test_unmatched_requests_count_for_the_address(tmp_path: Path) -> None:
    asked: list[tuple[str, str, dict[str, str], int]] = [
        ("GET", "/nothing/here", {}, 404),
        ("GET", "/static/nothing.js", {}, 404),
        ("GET", "/problems/nothing", {}, 404),
        ("DELETE", "/v1/orders", {}, 405),
        ("POST", "/orders", {"Sec-Fetch-Site": "cross-site"}, 403),
        ("GET", "/", {"Host": "evil.example"}, 421),
    ]
    with limited(tmp_path, address_requests_per_minute=10) as world:
        for number, (method, path, headers, status) in enumerate(asked, 1):
            with world.browser(f"127.0.0.{number}") as anybody:
                ask = partial(anybody.request, method, path, headers=headers)
                assert together(ask, 25) == {status: 10, 429: 15}, (method, path)
        assert world.http.get("/v1/orders").status_code == 200, "a key behind the first address"


def test_long_paths_are_truncated_in_logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = CapturingLogger()
    monkeypatch.setattr(middleware, "log", log)
    monkeypatch.setattr(problems, "log", log)
    with running(tmp_path) as world:
        world.http.get("/static/css/site.css")
        world.http.get("/v1/orders/" + "x" * 50_000)
        world.http.get("/" + "x" * 50_000)
    lines = [call.kwargs for call in log.calls if call.args[0].startswith("request.")]
    assert [line["status"] for line in lines] == [404] * 4
    assert max(len(str(value)) for line in lines for value in line.values()) == 200


@pytest.fixture
def guessed(tmp_path: Path) -> Iterator[World]:
    with limited(tmp_path, address_requests_per_minute=5) as world:
        yield world


def test_wrong_keys_count_for_their_address_only(guessed: World) -> None:
    with guessed.browser() as guesser:
        assert together(lambda: guesser.get("/v1/orders", headers=WRONG), 20) == {401: 5, 429: 15}
        assert guesser.get("/").status_code == 200, "customers at the same address order on"
        # A new key too, during the guessing.
        fresh = header_for(guessed.parts.database)
        with ThreadPoolExecutor(8) as pool:
            guesses = [pool.submit(guesser.get, "/v1/orders", headers=WRONG) for _ in range(60)]
            assert guesser.get("/v1/orders", headers=fresh).status_code == 200
            assert together(lambda: guesser.get("/v1/orders", headers=fresh), 20) == {200: 20}
            assert {guess.result().status_code for guess in guesses} == {429}
    with guessed.browser(ELSEWHERE) as other:
        assert other.get("/v1/orders", headers=WRONG).status_code == 401


@pytest.mark.parametrize("cookie", ["saycart_page", "saycart_session"])
def test_invented_cookies_do_not_avoid_limits(guessed: World, cookie: str) -> None:
    with guessed.browser() as anybody:
        answers = [
            anybody.get("/", headers={"Cookie": f"{cookie}={number:020}"}).status_code for number in range(9)
        ]
        assert answers == [200] * 5 + [429] * 4
        stolen = anybody.get("/orders/ord_x", headers={"Cookie": "saycart_order=forged"})
        assert stolen.status_code == 429


def ordered(world: World, client: httpx.Client) -> str:
    made = client.post("/orders", data=TEXT)
    assert made.status_code == 303, made.text
    return str(made.headers["location"])


def test_customers_are_limited_by_order(tmp_path: Path) -> None:
    """A customer who reloads endlessly is limited and blocks nobody at the same address."""
    with (
        limited(tmp_path, address_requests_per_minute=20) as world,
        world.browser() as greedy,
        world.browser() as honest,
        world.browser(ELSEWHERE) as friend,
    ):
        hers, his = ordered(world, greedy), ordered(world, honest)
        assert together(lambda: greedy.get(hers), 30) == {200: 20, 429: 10}
        assert greedy.get(f"{hers}/events").status_code == 429
        assert [honest.get(his).status_code for _ in range(8)] == [200] * 8
        assert honest.get("/").status_code == 200
        # Other browsers with that order share its limit, at any address.
        assert friend.get(world.link(hers.rpartition("/")[2])).status_code == 429
        # Without access to an order, the address counts.
        friend.cookies.clear()
        assert together(lambda: friend.get(hers), 30) == {404: 20, 429: 10}
        assert limited_of(world)["order"] == 12


def test_a_kiosk_has_its_own_limit(tmp_path: Path) -> None:
    with limited(tmp_path, address_requests_per_minute=5) as world:
        page = world.parts.keys.add_page("main", "kiosk", by=BY)
        with world.browser() as kiosk, world.browser() as anybody, world.browser(ELSEWHERE) as other:
            assert kiosk.get(f"/at/{page.id}").status_code == 303
            assert together(lambda: anybody.get("/"), 10) == {200: 4, 429: 6}
            assert [kiosk.get("/").status_code for _ in range(7)] == [200] * 5 + [429] * 2
            # The page's key is public: using it elsewhere takes nothing from the kiosk.
            assert other.get("/", headers={"Cookie": f"saycart_page={page.id}"}).status_code == 200


@contextmanager
def signed_in(world: World) -> Iterator[httpx.Client]:
    """A manager's browser."""
    world.parts.staff.add("Ann", "correct horse battery", role=Role.MANAGER, by=BY)
    with world.browser() as ann:
        entered = ann.post("/sign-in", data={"name": "Ann", "password": "correct horse battery"})
        assert entered.status_code == 303
        ann.headers["X-CSRF-Token"] = csrf_in(ann.get("/account"))
        yield ann


def test_staff_are_limited_individually(tmp_path: Path) -> None:
    with (
        limited(tmp_path, key_requests_per_minute=12, address_requests_per_minute=4) as world,
        signed_in(world) as ann,
        world.browser() as anybody,
    ):
        assert together(lambda: anybody.get("/review"), 6) == {303: 3, 429: 3}
        assert together(lambda: ann.get("/review/stats"), 15) == {200: 11, 429: 4}
        assert ann.get("/").status_code == 429, "her own page is no way around it"


def test_a_page_can_not_fill_its_shops_quota(tmp_path: Path) -> None:
    """An address may use a twentieth of the shop's daily quota, all pages half of it."""
    sound = {"audio": wav(1.2)}  # 38 kB
    with limited(tmp_path, shop_recording_bytes_per_day=1_000_000) as world, world.browser() as anybody:

        def spoken(client: httpx.Client) -> httpx.Response:
            return client.post("/orders", files=sound, data={"menu": MENU["id"]})

        assert spoken(anybody).status_code == 303
        refused = spoken(anybody)
        assert refused.status_code == 429
        assert "Recordings from this address take too much space today: order as text" in refused.text
        assert anybody.post("/orders", data=TEXT).status_code == 303
        codes = Counter[int]()
        for number in range(2, 18):
            with world.browser(f"127.0.0.{number}") as other:
                codes[spoken(other).status_code] += 1
        assert codes == {303: 11, 429: 5}
        kept = len(world.recordings)
        till = Counter(world.http.post("/v1/orders", files=sound).status_code for _ in range(16))
        assert till == {202: 14, 429: 2}
        assert len(world.recordings) == kept + 14
        assert world.http.post("/v1/orders", json=TEXT).status_code == 202


def test_an_address_may_send_two_longest_recordings_per_minute(tmp_path: Path) -> None:
    recording = {"audio": wav(1.2)}  # 38 of 200 kB
    with limited(tmp_path, max_audio_s=0.4) as world, world.browser() as anybody:
        asked = (anybody.post("/orders", files=recording, data={"menu": MENU["id"]}) for _ in range(7))
        assert Counter(answer.status_code for answer in asked) == {303: 5, 429: 2}
        assert world.http.post("/v1/orders", files=recording).status_code == 202


def test_the_default_limits_suffice_for_an_order_page(tmp_path: Path) -> None:
    """Sixty customers at one address each open the page, order, and reload ten times."""
    defaults = Settings()
    kept = {name: getattr(defaults, name) for name in Settings.model_fields if name.endswith("_per_minute")}
    with limited(tmp_path, **kept, address_backlog=0, shop_backlog=0) as world:

        def visit() -> httpx.Response:
            with world.browser() as customer:
                customer.get("/").raise_for_status()
                where = ordered(world, customer)
                for _ in range(9):
                    customer.get(where).raise_for_status()
                return customer.get(where)

        assert together(visit, 60) == {200: 60}
