"""Authorization: every route with every kind of credential, and known ways around it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from itsdangerous import URLSafeTimedSerializer

from infra.settings import Settings
from schemas.menu import Menu
from schemas.shops.access import ALL_SCOPES, Access, Role, Scope
from schemas.shops.audit import Actor
from services.api.app import create_app
from services.api.gate.access import PUBLIC, declared
from services.api.routes import links
from services.api.routes.links import capability
from services.bootstrap import bootstrap
from services.storage.orders.store import OrderStore
from services.web.customers.order_access import ORDER_COOKIE
from tests.credentials import header_for
from tests.integration.api_world import MENU, World, expect_problem, running

OTHER = "other"
BY = Actor("tests")
Header = dict[str, str]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """One deployment with two shops."""
    with running(tmp_path_factory.mktemp("access"), masked_tasks="tests.masked_tasks:TASKS") as shared:
        shared.parts.shops.add(OTHER, "The other shop", by=BY)
        shared.http.headers.pop("authorization")
        yield shared


@pytest.fixture(scope="module")
def stranger(world: World) -> Header:
    """A key of the other shop with all scopes."""
    return header_for(world.parts.database, person="eve", shop=OTHER)


def of_every_route(world: World) -> list[tuple[str, str, frozenset[str]]]:
    """Return method, URL with ids of the main shop, and scopes of every protected route."""
    order_id, review_id = world.doubted()
    ids = {"order_id": order_id, "review_id": review_id, "menu_id": MENU["id"], "sku": "latte"}
    ids |= {"name": "ticket", "shop": "main"}  # of a masked task, of a kiosk
    ids |= {"action": "add", "endpoint_id": "whk_none"}
    return [
        (method, path.format(**ids), scopes)
        for path, methods, scopes in declared(world.server._app)
        if path not in PUBLIC
        for method in sorted(methods)
    ]


def ask(world: World, method: str, path: str, header: Header) -> httpx.Response:
    """Send a body that is invalid for every route: credentials are checked first, so authorized requests get
    another error."""
    body = None if method == "GET" else {"no": "such"}
    with world.http.stream(method, path, headers=header, json=body) as answer:
        if not answer.headers.get("content-type", "").startswith("text/event-stream"):
            answer.read()
    return answer


def test_an_app_with_an_unprotected_route_does_not_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.api.gate.access.PUBLIC", frozenset())
    with pytest.raises(RuntimeError, match=r"without a scope: .*/livez"):
        create_app(bootstrap(Settings(home=tmp_path)))


def test_invalid_credentials_are_rejected(world: World) -> None:
    good = world.bearing("ada")["Authorization"].removeprefix("Bearer ")
    key_id, secret = good.split("_", 2)[1:]
    for token in (
        "x", "", " ", good[:-1], good + "A", f"saycart_{key_id}_{'A' * 43}", f"saycart_{'0' * 10}_{secret}",
        f"saycart_{key_id}_", good.upper(), good.replace("_", "-"), "' OR 1=1 --", "\u00e9" * 43, "A" * 8000,
    ):  # fmt: skip
        for scheme in ("Bearer", "bearer", "Basic", "Token", ""):
            answer = world.http.get(
                "/v1/orders", headers={"Authorization": f"{scheme} {token}".strip().encode()}
            )
            expect_problem(answer, 401, "unauthorized")
    for header in ({"X-API-Key": good}, {"Cookie": f"Authorization=Bearer {good}"}):
        assert world.http.get("/v1/orders", headers=header).status_code == 401
    assert world.http.get("/v1/orders", params={"key": good, "access_token": good}).status_code == 401


@pytest.mark.parametrize("scope", sorted(ALL_SCOPES))
def test_a_key_has_only_its_scopes(world: World, scope: Scope) -> None:
    header = header_for(world.parts.database, scope)
    for method, path, wanted in of_every_route(world):
        if not path.startswith(("/v1/", "/metrics")):
            continue
        answer = ask(world, method, path, header)
        if scope in wanted:
            assert answer.status_code not in (401, 403), (method, path, answer.text)
        else:
            assert "scope" in expect_problem(answer, 403, "forbidden")["detail"], (method, path)


def test_objects_of_another_shop_are_not_found(world: World, stranger: Header) -> None:
    order_id, review_id = world.doubted()
    for method, path, _ in of_every_route(world):
        of_nobody = method == "PUT" or path.startswith(("/v1/schema", "/v1/masked"))
        if not path.startswith("/v1/") or path.count("/") < 3 or of_nobody:
            continue
        answer = ask(world, method, path, stranger)
        assert answer.status_code in (404, 422), (method, path, answer.text)
        assert "latte" not in answer.text
    for path in (f"/v1/orders/{order_id}", f"/v1/orders/{order_id}?wait=1", f"/v1/orders/{order_id}/events"):
        expect_problem(world.http.get(path, headers=stranger), 404, "not_found")
    for path in ("cancel", "link", "answer"):
        body = {"question": "0/size", "answer": "L"}
        expect_problem(
            world.http.post(f"/v1/orders/{order_id}/{path}", headers=stranger, json=body), 404, "not_found"
        )
    for call, body in (
        ("claim", {}), ("release", {}), ("ask", {"version": 1, "question": "staff/again"}),
        ("decision", {"version": 1, "action": "reject", "reason": "no"}),
    ):  # fmt: skip
        url = f"/v1/reviews/{review_id}/{call}"
        expect_problem(world.http.post(url, headers=stranger, json=body), 404, "not_found")
    expect_problem(world.http.get(f"/v1/menus/{MENU['id']}", headers=stranger), 404, "not_found")
    assert world.parts.orders.get(order_id).state.value == "in_review"


def test_lists_show_only_the_own_shop(world: World, stranger: Header) -> None:
    world.doubted()
    for path, name in (("/v1/orders", "orders"), ("/v1/reviews", "reviews"), ("/v1/menus", "menus")):
        assert world.http.get(path, headers=stranger).json()[name] == []
        assert world.http.get(path, headers=world.bearing("ada")).json()[name] != []
    text = {"transcript": "a latte", "menu": MENU["id"]}
    expect_problem(world.http.post("/v1/orders", json=text, headers=stranger), 422, "unknown_menu")


def test_two_shops_may_use_the_same_menu_id(world: World, stranger: Header) -> None:
    dear = {**MENU, "id": "same", "name": "Dear", "items": [{"sku": "latte", "name": "latte", "price": 999}]}
    cheap = {**MENU, "id": "same", "name": "Cheap", "items": [{"sku": "latte", "name": "latte", "price": 1}]}
    for header, document in ((stranger, cheap), (world.bearing("ada"), dear)):
        answer = world.http.put("/v1/menus/same", json=document, headers=header)
        assert (answer.status_code, answer.json()["version"]) == (201, 1)
    for header, price in ((stranger, 1), (world.bearing("ada"), 999)):
        assert world.http.get("/v1/menus/same", headers=header).json()["items"][0]["price"] == price
        made = world.http.post(
            "/v1/orders", json={"transcript": "a latte", "menu": "same"}, headers=header
        ).json()
        order = world.parts.database and OrderStore(world.parts.database, "*").get(made["id"])
        tools = super(type(world.parts), world.parts).tools
        assert tools.menu(order.shop, order.menu_id, order.menu_version).menu.items[0].price == price


def test_idempotency_keys_belong_to_a_shop(world: World, stranger: Header) -> None:
    world.parts.menus.of(OTHER).put(Menu.parse(MENU), by=BY)
    body, key = {"transcript": "a latte", "menu": MENU["id"]}, {"Idempotency-Key": "order-1"}
    made = [
        world.http.post("/v1/orders", json=body, headers=key | header).json()["id"]
        for header in (world.bearing("ada"), world.bearing("bob"), stranger)
    ]
    assert len(set(made)) == 3


def test_a_customer_can_only_open_their_own_order(world: World) -> None:
    form = {"transcript": "a latte", "menu": MENU["id"]}
    with httpx.Client(base_url=world.url, headers={"Origin": world.url}) as ann:
        made = ann.post("/orders", data=form)
        assert made.status_code == 303
        order_id = made.headers["location"].rpartition("/")[2]
        cookie = next(c for c in made.headers.get_list("set-cookie") if c.startswith(ORDER_COOKIE))
        assert f"Path=/orders/{order_id}" in cookie
        assert "HttpOnly" in cookie
        assert "SameSite=lax" in cookie
        assert ann.get(f"/orders/{order_id}").status_code == 200
        other, _ = world.doubted()
        for path in ("", "/events", "/audio"):
            assert ann.get(f"/orders/{other}{path}").status_code == 404
        for call in ("again", "confirm", "change", "answer"):
            assert ann.post(f"/orders/{other}/{call}", data={"version": "1"}).status_code == 404


def test_forged_and_expired_capabilities_are_rejected(world: World) -> None:
    order_id, _ = world.doubted()
    box, good = world.parts, capability(world.parts, "main", world.doubted()[0])
    forged = URLSafeTimedSerializer("0" * 64, salt="saycart order").dumps(["main", order_id])
    other_use = URLSafeTimedSerializer(box.signing_keys, salt="another use").dumps(["main", order_id])
    ours = URLSafeTimedSerializer(box.signing_keys, salt="saycart order")
    wrong = (
        order_id,
        [order_id],
        {"shop": "main"},
        [],
        None,
        ["main", order_id, 1],
        ["", order_id],
        ["*", order_id],
    )
    shapes = [ours.dumps(content) for content in wrong]
    for token in (forged, other_use, good, good[:-1], "", "x", "a.b.c", *shapes):
        answer = world.http.get(f"/orders/{order_id}", params={"c": token})
        assert answer.status_code == 404, token
        assert "set-cookie" not in answer.headers


def test_a_link_becomes_a_cookie_and_expires(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    order_id, _ = world.doubted()
    made = world.http.post(f"/v1/orders/{order_id}/link", headers=world.bearing("ada")).json()
    with httpx.Client(base_url=world.url) as guest:
        assert made["url"] == world.url + made["path"]
        sent = guest.get(made["url"])
        assert (sent.status_code, sent.headers["location"]) == (303, f"/orders/{order_id}")
        assert guest.get(sent.headers["location"]).status_code == 200
    with httpx.Client(base_url=world.url) as late:
        path = world.link(order_id)
        monkeypatch.setattr(links, "LINK_S", -1)
        assert late.get(path).status_code == 404


def test_a_page_key_opens_only_its_shops_page(world: World) -> None:
    page_key = world.parts.keys.add_page(OTHER, "kiosk", by=BY)
    world.parts.menus.of(OTHER).put(Menu.parse({**MENU, "name": "The Other Menu"}), by=BY)
    with httpx.Client(base_url=world.url, headers={"Origin": world.url}) as kiosk:
        assert "Corner Cafe" in kiosk.get("/").text
        assert kiosk.get(f"/at/{page_key.id}").headers["location"] == "/"
        shown = kiosk.get("/").text
        assert "The Other Menu" in shown
        assert "Corner Cafe" not in shown
        made = kiosk.post("/orders", data={"transcript": "a latte", "menu": MENU["id"]})
        order = OrderStore(world.parts.database, "*").get(made.headers["location"].rpartition("/")[2])
        assert (order.shop, order.confirm) == (OTHER, True)
        world.parts.keys.revoke(page_key.id, by=BY)
        assert kiosk.get(f"/at/{page_key.id}").status_code == 404
        assert "Corner Cafe" in kiosk.get("/").text
    for bad in ("x", "0" * 20, world.bearing("ada")["Authorization"].split("_")[1]):
        assert world.http.get(f"/at/{bad}").status_code == 404


def test_the_order_page_can_be_disabled(tmp_path: Path) -> None:
    with running(tmp_path, page_shop="") as world:
        assert world.http.get("/").status_code == 404
        assert world.http.get("/menu").status_code == 404


@pytest.mark.parametrize(
    ("role", "review", "edit"), [("reviewer", 200, 403), ("manager", 200, 200), ("admin", 200, 200)]
)
def test_a_role_opens_only_its_pages(world: World, role: str, review: int, edit: int) -> None:
    world.parts.staff.add(f"the {role}", "correct horse battery", role=Role(role))
    with httpx.Client(base_url=world.url, headers={"Origin": world.url}) as http:
        http.post("/sign-in", data={"name": f"the {role}", "password": "correct horse battery"})
        assert http.get("/review").status_code == review
        assert http.get(f"/menu/{MENU['id']}/edit?sku=latte").status_code == edit
        assert ("Edit" in http.get(f"/menu/{MENU['id']}").text) is (edit == 200)
        order_id, _ = world.doubted()
        assert http.get(f"/orders/{order_id}").status_code == 200
        assert http.post(f"/orders/{order_id}/again").status_code == 404, "staff look, and change nothing"
        if role == "manager":
            world.parts.staff.set_role("the manager", Role.REVIEWER)
            assert http.get(f"/menu/{MENU['id']}/edit?sku=latte").status_code == 403


def test_staff_see_only_their_shop(world: World) -> None:
    world.parts.staff.add("oscar", "correct horse battery", shop=OTHER, role=Role.ADMIN)
    order_id, review_id = world.doubted()
    with httpx.Client(base_url=world.url, headers={"Origin": world.url}) as http:
        http.post("/sign-in", data={"name": "oscar", "password": "correct horse battery"})
        assert http.get(f"/review/{review_id}").status_code == 404
        assert http.get(f"/orders/{order_id}/audio").status_code == 404
        assert http.get(f"/orders/{order_id}").status_code == 404
        assert review_id not in http.get("/review").text


def test_no_credential_covers_all_shops() -> None:
    for shop in ("*", ""):
        with pytest.raises(ValueError, match="one shop"):
            Access(shop, "key:x", frozenset())


def test_the_openapi_document_has_the_scopes(world: World) -> None:
    document = world.http.get("/openapi.json").json()
    for path, methods, scopes in declared(world.server._app):
        if path.startswith("/v1/"):
            for method in methods:
                assert document["paths"][path][method.lower()]["security"] == [{"key": sorted(scopes)}]
