"""Rejecting all orders of one visitor, and what the pages refuse without a browser."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from schemas.cart import CartDraft
from schemas.lifecycle import Event
from schemas.records.orders import NewOrder
from schemas.review import ReviewReason
from schemas.shops.access import Role
from schemas.transcript import Transcript
from services.storage.orders.store import OrderStore
from services.web.staff.staff import COOKIE, csrf_of
from tests.integration.api_world import MENU, World, running

LATTE = {"kind": "item", "heard": "a latte", "sku": "latte", "quantity": 1, "size": "L"}
PASSWORD = "correct horse battery"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with running(tmp_path_factory.mktemp("rules")) as shared:
        yield shared


def act(world: World, review_id: str, call: str, /, **body: Any) -> httpx.Response:
    who = world.bearing(body.pop("reviewer", "ada"))
    return world.http.post(f"/v1/reviews/{review_id}/{call}", json=body, headers=who)


def proposed(world: World) -> str:
    """An order of a large latte, $5.50, in review; the review's id."""
    order_id = world.text()["id"]
    world.advance(order_id, Event.DOUBTED, draft=CartDraft.model_validate({"lines": [LATTE]}))
    return str(world.http.get(f"/v1/orders/{order_id}").json()["review"]["id"])


def from_page(world: World, address: str, **columns: Any) -> str:
    """A doubted order of a browser at this address; the review's id."""
    sent = NewOrder(
        MENU["id"],
        1,
        "en",
        transcript=Transcript(text="a spaceship", confidence=1.0),
        client=f"page:k/{address}/b",
    )
    orders = OrderStore(world.parts.database, "main")
    order = orders.create(sent)[0]
    world.advance(order.id, Event.DOUBTED, reasons=(ReviewReason.NOT_ON_MENU,), **columns)
    return str(world.http.get(f"/v1/orders/{order.id}").json()["review"]["id"])


def statuses(world: World, reviews: list[str]) -> list[str]:
    return [world.http.get(f"/v1/reviews/{review_id}").json()["status"] for review_id in reviews]


@pytest.fixture(scope="module")
def staff(world: World) -> Iterator[httpx.Client]:
    """A signed-in client that sends the session's CSRF token."""
    world.parts.staff.add("Ann", PASSWORD, role=Role.ADMIN)
    with httpx.Client(base_url=world.url, timeout=40, headers={"Origin": world.url}) as http:
        http.post("/sign-in", data={"name": "Ann", "password": PASSWORD})
        http.headers["X-CSRF-Token"] = csrf_of(http.cookies[COOKIE])
        yield http


def reject_all(world: World, staff: httpx.Client, review_id: str) -> None:
    """Press "Reject all from this address" on the review's page."""
    staff.post(f"/review/{review_id}/claim")
    version = world.parts.reviews.get(review_id).version
    form = {"version": str(version), "action": "reject", "reason": "prank", "all": "yes"}
    assert staff.post(f"/review/{review_id}/decide", data=form).status_code == 303


def test_all_of_one_visitor_are_rejected_at_once(world: World, staff: httpx.Client) -> None:
    flood = [from_page(world, "6.6.6.6") for _ in range(4)]
    others = [from_page(world, "6.6.6.7"), proposed(world)]
    assert act(world, flood[1], "claim", reviewer="bob").status_code == 200
    staff.post(f"/review/{flood[0]}/claim")
    assert "Reject all 4 from this address" in staff.get(f"/review/{flood[0]}").text
    reject_all(world, staff, flood[0])
    assert statuses(world, flood) == ["decided", "claimed", "decided", "decided"]
    assert "decided" not in statuses(world, others)
    audited = [entry.object_id for entry in world.parts.audit.entries(action="review.decided")]
    assert [review_id for review_id in audited if review_id in flood] == [flood[0], *flood[2:]]


def test_a_form_without_version_or_reason_is_refused(world: World, staff: httpx.Client) -> None:
    review_id = proposed(world)
    staff.post(f"/review/{review_id}/claim")
    for fields in (
        {"action": "reject", "version": "2"},
        {"action": "accept"},
        {"action": "accept", "version": "x"},
    ):
        assert staff.post(f"/review/{review_id}/decide", data=fields).status_code == 422
    assert world.parts.reviews.get(review_id).status == "claimed"


def test_reviews_that_do_not_exist_are_a_page(staff: httpx.Client) -> None:
    answer = staff.get("/review/rev_none")
    assert answer.status_code == 404
    assert "text/html" in answer.headers["content-type"]
