"""Confirmation over HTTP, and how long an order can be cancelled after it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from schemas.cart import CartDraft
from schemas.lifecycle import Event
from tests.integration import api_world
from tests.integration.api_world import World, expect_problem, running, wav

world, own_world = api_world.world, api_world.own_world


def cart(size: str) -> dict[str, Any]:
    return {"lines": [{"kind": "item", "heard": "a latte", "sku": "latte", "quantity": 1, "size": size}]}


def proposed(world: World) -> dict[str, Any]:
    """A proposed order for a large latte."""
    order_id = world.text(confirm=True)["id"]
    world.advance(order_id, Event.DECODED, draft=CartDraft.model_validate(cart("L")))
    world.advance(order_id, Event.PROPOSED)
    order: dict[str, Any] = world.http.get(f"/v1/orders/{order_id}").json()
    assert order["status"] == "needs_confirmation"
    return order


def completed(world: World) -> str:
    order_id: str = world.text()["id"]
    world.advance(order_id, Event.DECODED)
    world.advance(order_id, Event.ACCEPTED)
    return order_id


def post(world: World, order_id: str, call: str, **sent: Any) -> httpx.Response:
    return world.http.post(f"/v1/orders/{order_id}/{call}", json=sent)


@pytest.mark.parametrize(("field", "confirm"), [({}, False), ({"confirm": "true"}, True)])
def test_a_recording_may_ask_for_confirmation(world: World, field: dict[str, str], confirm: bool) -> None:
    sent = world.http.post("/v1/orders", files={"audio": ("a.wav", wav())}, data=field)
    assert world.parts.orders.get(sent.json()["id"]).confirm is confirm
    odd = world.http.post("/v1/orders", files={"audio": ("a.wav", wav())}, data={"confirm": "yes"})
    assert expect_problem(odd, 422, "invalid_input")["errors"][0]["pointer"] == "/confirm"


def test_a_customer_confirms_only_the_cart_they_saw(own_world: World) -> None:
    order = proposed(own_world)
    seen = order["version"]
    for sent, title in (
        ({"version": seen - 1}, "The order has changed since you read it"),
        ({"version": seen, "total": 549}, "The cart has another total"),
    ):
        found = expect_problem(post(own_world, order["id"], "confirm", **sent), 409, "conflict")
        assert (found["title"], found["order"]["version"]) == (title, seen)
    bad = post(own_world, order["id"], "confirm", version=seen, cart=cart("XL"))
    expect_problem(bad, 422, "invalid_cart")
    done = post(own_world, order["id"], "confirm", version=seen, total=550).json()
    assert (done["status"], done["cart"]["total"]) == ("completed", 550)
    twice = expect_problem(post(own_world, order["id"], "confirm", version=seen), 409, "conflict")
    assert twice["title"] == "The order has no cart to confirm"


def test_a_completed_order_can_be_cancelled_until_the_shop_takes_it(tmp_path: Path) -> None:
    with running(tmp_path, cancel_completed_s=60) as world:
        waiting = expect_problem(post(world, world.text()["id"], "taken"), 409, "conflict")
        assert waiting["title"] == "The order is not completed"
        assert post(world, completed(world), "cancel").json()["status"] == "cancelled"
        order_id = completed(world)
        first, again = (post(world, order_id, "taken").json() for _ in range(2))
        assert first == again
        assert (first["status"], bool(first["taken_at"])) == ("completed", True)
        assert [event.type for event in world.parts.orders.events(order_id)][-2:] == ["accepted", "taken"]
        late = expect_problem(post(world, order_id, "cancel"), 409, "conflict")
        assert (late["title"], late["detail"]) == (
            "The order can't be cancelled any more",
            "The order is taken by the shop",
        )


def test_by_default_completed_orders_can_not_be_cancelled(world: World) -> None:
    order_id = completed(world)
    found = expect_problem(post(world, order_id, "cancel"), 409, "conflict")
    assert found["detail"] == "The order is already completed"
