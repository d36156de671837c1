"""Reviews, menus and the published schema over HTTP."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from unittest.mock import Mock

import httpx
import pytest

from schemas.cart import CartDraft
from schemas.errors import InvalidMenu
from schemas.lifecycle import Event
from schemas.review import ReviewReason
from services.shop_scope import ShopScope
from tests.integration import api_world
from tests.integration.api_world import MENU, World, expect_problem

world, own_world, lone_world = api_world.world, api_world.own_world, api_world.lone_world

LATTE = {"kind": "item", "heard": "a latte", "sku": "latte", "quantity": 2, "size": "L"}
CART = {"lines": [LATTE]}


def act(world: World, review_id: str, call: str, /, **body: Any) -> httpx.Response:
    who = world.bearing(body.pop("reviewer", "ada"))
    return world.http.post(f"/v1/reviews/{review_id}/{call}", json=body, headers=who)


def claimed(world: World) -> tuple[str, str, int]:
    """An order in review claimed by Ada: order, review, version."""
    order_id, review_id = world.doubted()
    answer = act(world, review_id, "claim", reviewer="ada")
    assert answer.status_code == 200, answer.text
    return order_id, review_id, answer.json()["version"]


def test_open_reviews_are_listed_oldest_first(own_world: World) -> None:
    made = [own_world.doubted()[1] for _ in range(3)]
    act(own_world, made[1], "claim", reviewer="ada")
    page = own_world.http.get("/v1/reviews?limit=2").json()
    assert [review["id"] for review in page["reviews"]] == made[:2]
    rest = own_world.http.get("/v1/reviews", params={"cursor": page["next_cursor"]}).json()
    assert [review["id"] for review in rest["reviews"]] == made[2:]
    assert rest["next_cursor"] is None
    expect_problem(own_world.http.get("/v1/reviews?cursor=x"), 422, "invalid_input")


def test_a_review_shows_its_order_and_reasons(world: World) -> None:
    order_id, review_id = world.doubted()
    answer = world.http.get(f"/v1/reviews/{review_id}")
    review = answer.json()
    assert review["order"]["id"] == order_id
    assert review["order"]["status"] == "needs_review"
    assert review["reasons"] == ["not_on_menu"]
    assert review["proposed"] is None
    assert answer.headers["etag"] == f'W/"{review["version"]}"'


def test_approving_the_proposed_cart(world: World) -> None:
    order_id = world.text()["id"]
    world.advance(
        order_id,
        Event.DOUBTED,
        draft=CartDraft.model_validate(CART),
        reasons=(ReviewReason.LOW_ASR_CONFIDENCE,),
    )
    review_id = world.http.get(f"/v1/orders/{order_id}").json()["review"]["id"]
    before = world.http.get(f"/v1/orders/{order_id}").headers["etag"]
    version = act(world, review_id, "claim", reviewer="ada").json()["version"]
    assert world.http.get(f"/v1/orders/{order_id}").headers["etag"] != before
    answer = act(world, review_id, "decision", reviewer="ada", version=version, action="approve")
    assert answer.status_code == 200, answer.text
    decided = answer.json()
    assert (decided["status"], decided["decision"], decided["decided_by"]) == ("decided", "approve", "ada")
    order = world.http.get(f"/v1/orders/{order_id}").json()
    assert order["status"] == "completed"
    assert order["cart"]["total"] == 1100
    assert order["review"]["decided_at"].endswith("Z")


def test_correcting_and_rejecting(world: World) -> None:
    _, review_id, version = claimed(world)
    answer = act(world, review_id, "decision", reviewer="ada", version=version, action="correct", cart=CART)
    assert answer.json()["order"]["cart"]["lines"][0]["line_total"] == 1100
    _, review_id, version = claimed(world)
    answer = act(
        world, review_id, "decision", reviewer="ada", version=version, action="reject", reason="a prank"
    )
    assert answer.json()["order"]["status"] == "rejected"
    assert answer.json()["reason"] == "a prank"


def test_carts_outside_the_menu_are_rejected(world: World) -> None:
    order_id, review_id, version = claimed(world)
    answer = act(
        world,
        review_id,
        "decision",
        reviewer="ada",
        version=version,
        action="correct",
        cart={"lines": [LATTE, LATTE | {"sku": "unicorn", "size": None}]},
    )
    found = expect_problem(answer, 422, "invalid_cart")
    assert found["errors"][0]["pointer"].startswith("/cart/lines/1")
    assert world.http.get(f"/v1/orders/{order_id}").json()["status"] == "needs_review"


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"version": 1, "action": "correct"}, ""),
        ({"version": 1, "action": "reject", "reason": "  "}, ""),
        ({"version": 1, "action": "reject", "reason": "x", "cart": {"lines": []}}, ""),
        ({"version": 1, "action": "approve", "cart": {"lines": []}}, ""),
        ({"version": 0, "action": "approve"}, "/version"),
        ({"version": 1, "action": "burn"}, "/action"),
        ({"version": 1, "action": "correct", "cart": {"lines": [{}]}}, "/cart/lines/0"),
        ({"version": 1, "action": "approve", "total": 1}, "/total"),
    ],
)
def test_invalid_decisions_are_rejected(world: World, body: dict[str, Any], pointer: str) -> None:
    _, review_id = world.doubted()
    found = expect_problem(act(world, review_id, "decision", **body), 422, "invalid_input")
    assert pointer in [error["pointer"] for error in found["errors"]]


def test_claiming_again_renews_and_releasing_unassigns(world: World) -> None:
    _, review_id, version = claimed(world)
    again = act(world, review_id, "claim", reviewer="ada").json()
    assert again["version"] == version
    expect_problem(act(world, review_id, "release", reviewer="bob"), 409, "conflict")
    assert act(world, review_id, "release", reviewer="ada").json()["status"] == "open"
    assert act(world, review_id, "claim", reviewer="bob").status_code == 200


def test_a_stale_unclaimed_or_second_decision_is_a_conflict(world: World) -> None:
    _, review_id = world.doubted()
    body = {"reviewer": "ada", "version": 1, "action": "reject", "reason": "no"}
    assert (
        expect_problem(act(world, review_id, "decision", **body), 409, "conflict")["review"]["status"]
        == "open"
    )
    _, review_id, version = claimed(world)
    stale = expect_problem(act(world, review_id, "decision", **body), 409, "conflict")
    assert stale["review"]["version"] == version
    now = body | {"version": version}
    expect_problem(act(world, review_id, "decision", **now | {"reviewer": "bob"}), 409, "conflict")
    assert act(world, review_id, "decision", **now).status_code == 200
    twice = expect_problem(act(world, review_id, "decision", **now), 409, "conflict")
    assert twice["review"]["status"] == "decided"


def put(world: World, document: Any, menu_id: str | None = None) -> httpx.Response:
    return world.http.put(f"/v1/menus/{menu_id or document['id']}", json=document)


def test_menus_are_imported_versioned_and_exported(world: World) -> None:
    first = {**MENU, "id": "m-versions"}
    made = put(world, first)
    assert made.status_code == 201, made.text
    assert made.json()["version"] == 1
    assert made.json()["items"] == 2
    assert put(world, first).status_code == 200
    second = put(world, {**first, "name": "Renamed"})
    assert (second.status_code, second.json()["version"]) == (201, 2)

    newest = world.http.get("/v1/menus/m-versions")
    assert newest.json()["name"] == "Renamed"
    assert newest.headers["menu-version"] == "2"
    old = world.http.get("/v1/menus/m-versions?version=1")
    assert old.json()["name"] == first["name"]
    assert old.headers["etag"] != newest.headers["etag"]
    known = {"If-None-Match": newest.headers["etag"]}
    assert world.http.get("/v1/menus/m-versions", headers=known).status_code == 304
    expect_problem(world.http.get("/v1/menus/m-versions?version=3"), 404, "not_found")
    assert put(world, newest.json()).status_code == 200, "an export is an import of the same"
    listed = world.http.get("/v1/menus").json()["menus"]
    assert ("m-versions", 2) in [(menu["id"], menu["version"]) for menu in listed]


def test_an_import_lists_dropped_names(world: World) -> None:
    twice = {
        **MENU,
        "id": "m-tidied",
        "items": [{"sku": "pie", "name": "pie", "price": 1, "aliases": ["PIE"]}],
    }
    made = put(world, twice)
    assert made.status_code == 201, made.text
    assert made.json()["notes"] == [
        {"pointer": "/items/0/aliases/0", "detail": "“PIE” reads like “pie”, so it was dropped"}
    ]
    again = put(world, twice)
    assert (again.status_code, again.json()["notes"]) == (200, made.json()["notes"])
    exported = world.http.get("/v1/menus/m-tidied").json()
    assert exported["items"][0]["aliases"] == []
    assert put(world, exported).json()["notes"] == []
    assert world.http.get("/v1/menus").json()["menus"][0]["notes"] == []


def test_an_order_keeps_its_menu_version(lone_world: World) -> None:
    order = lone_world.text()
    put(lone_world, {**MENU, "name": "Dearer"})
    assert lone_world.http.get(f"/v1/orders/{order['id']}").json()["menu"]["version"] == 1
    assert lone_world.text()["menu"]["version"] == 2


def test_an_inconsistent_menu_is_rejected(world: World) -> None:
    bad = {**MENU, "id": "m-bad", "items": [{"sku": "a", "name": "a", "prices": {"XL": 1}}, {"sku": "a"}]}
    found = expect_problem(put(world, bad), 422, "invalid_menu")
    assert any(error["pointer"].startswith("/items/1") for error in found["errors"])
    expect_problem(world.http.get("/v1/menus/m-bad"), 404, "not_found")
    other = expect_problem(put(world, MENU, "another"), 422, "invalid_menu")
    assert [error["pointer"] for error in other["errors"]] == ["/id"]
    expect_problem(world.http.put("/v1/menus/x", json=[]), 422, "invalid_menu")
    expect_problem(world.http.put("/v1/menus/x", content=b"{}"), 415, "unsupported_media_type")


def test_a_menu_without_a_valid_grammar_is_rejected(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = InvalidMenu([("/items", "the grammar does not compile")])
    monkeypatch.setattr(ShopScope, "check_menu", Mock(side_effect=refused))
    expect_problem(put(world, {**MENU, "id": "m-uncompilable"}), 422, "invalid_menu")
    expect_problem(world.http.get("/v1/menus/m-uncompilable"), 404, "not_found")


def test_the_schema_is_published_with_its_version(world: World) -> None:
    whole = world.http.get("/v1/schema/cart.json")
    assert whole.headers["content-type"] == "application/schema+json"
    assert whole.json()["version"]
    known = {"If-None-Match": whole.headers["etag"]}
    assert world.http.get("/v1/schema/cart.json", headers=known).status_code == 304


MILK = {"text": "Which milk?", "answers": ["Oat", "Soy"]}


def test_a_reviewer_asks_the_customer(own_world: World) -> None:
    world = own_world
    order_id, review_id, version = claimed(world)
    waiting = world.doubted()[1]
    expect_problem(act(world, review_id, "ask", version=version + 1, **MILK), 409, "conflict")
    expect_problem(act(world, review_id, "ask", version=version, text="Which?"), 422, "invalid_input")
    other = act(world, review_id, "ask", reviewer="bob", version=version, **MILK)
    assert expect_problem(other, 409, "conflict")["title"] == "Someone else has this review"
    asks = act(world, review_id, "ask", version=version, **MILK).json()
    assert (asks["status"], asks["claimed_by"]) == ("open", None)
    assert asks["lease_until"] > asks["order"]["updated_at"]
    review = world.parts.reviews.get(review_id)
    assert [review.asks(review.lease_until + timedelta(seconds=late)) for late in (-1, 0)] == [True, False]
    question = asks["order"]["question"]
    assert (question["text"], question["answers"][1]["text"]) == ("Which milk?", "Soy")
    sent = {"question": question["id"], "answer": "2"}
    order = world.http.post(f"/v1/orders/{order_id}/answer", json=sent).json()
    assert (order["status"], order["question"]) == ("needs_review", None)
    assert order["findings"][0]["message"] == "You answered “Soy”."
    assert order["review"]["version"] == asks["version"] + 1
    assert order["review"]["lease_until"] <= order["updated_at"]
    queue = world.http.get("/v1/reviews").json()["reviews"]
    assert [review["id"] for review in queue] == [review_id, waiting]
    types = [event.type for event in world.parts.orders.events(order_id)]
    assert types[-2:] == ["asked", "chosen"]
    acts = world.parts.reviews.acts(review_id)
    assert [(one.action, one.reason) for one in acts[1:]] == [("asked", "Which milk?")]
    late = world.http.post(f"/v1/orders/{order_id}/answer", json=sent)
    expect_problem(late, 409, "conflict")


def test_a_repeated_order_replaces_the_first_utterance(own_world: World) -> None:
    order_id, review_id, version = claimed(own_world)
    act(own_world, review_id, "ask", version=version, question="staff/again")
    more = own_world.http.post(f"/v1/orders/{order_id}/utterances", json={"transcript": "two bagels"})
    order = more.json()
    assert (more.status_code, order["stage"], order["transcript"]["text"]) == (202, "decode", "two bagels")
    assert own_world.parts.reviews.get(review_id).status == "withdrawn"
