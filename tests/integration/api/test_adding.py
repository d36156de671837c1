"""Adding utterances over real HTTP: stored once, refused if the order is closed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from schemas.cart import CartDraft
from schemas.lifecycle import Event, State
from schemas.order import MAX_UTTERANCES
from schemas.review import ReviewReason
from schemas.shops.access import Scope
from tests.credentials import header_for
from tests.integration import api_world
from tests.integration.api_world import World, expect_problem, wav

world, own_world = api_world.world, api_world.own_world
MORE = {"transcript": "and a bagel"}
LATTE = {"kind": "item", "heard": "a latte", "sku": "latte", "quantity": 1, "size": "L"}


def post(world: World, order_id: str, key: str = "", **sent: Any) -> httpx.Response:
    headers = {"Idempotency-Key": key} if key else {}
    return world.http.post(f"/v1/orders/{order_id}/utterances", headers=headers, **sent)


def shown(world: World, order_id: str) -> dict[str, Any]:
    found: dict[str, Any] = world.http.get(f"/v1/orders/{order_id}").json()
    return found


def test_an_added_utterance_is_stored(own_world: World) -> None:
    world, order_id = own_world, own_world.text(confirm=True)["id"]
    world.advance(order_id, Event.DECODED, draft=CartDraft.model_validate({"lines": [LATTE]}))
    world.advance(order_id, Event.PROPOSED)
    answer = post(world, order_id, json=MORE)
    assert (answer.status_code, answer.headers["location"]) == (202, f"/v1/orders/{order_id}")
    order = answer.json()
    assert (order["status"], order["stage"], world.parts.orders.get(order_id).draft) == (
        "processing",
        "decode",
        None,
    )
    assert order["transcript"]["text"] == "a latte. and a bagel."
    assert [(one["kind"], one["transcript"]["text"]) for one in order["utterances"]] == [
        ("text", "a latte"),
        ("text", "and a bagel"),
    ]
    assert world.parts.bell.rung[-1] == (order_id, State.TRANSCRIBED, 0.0)
    spoken = post(world, order_id, files={"audio": ("a.wav", wav())}).json()
    assert (spoken["status"], spoken["stage"], spoken["transcript"]) == ("queued", "transcribe", None)
    audio = world.http.get(f"/v1/orders/{order_id}/audio?utterance=2")
    assert (audio.status_code, audio.content) == (200, wav())
    assert world.http.get(f"/v1/orders/{order_id}/audio?utterance=1").status_code == 404


def test_a_repeated_key_adds_once(own_world: World) -> None:
    """Also for concurrent requests, and after the order has progressed."""
    order_id, other = own_world.text()["id"], own_world.text()["id"]
    with ThreadPoolExecutor(4) as pool:
        codes = list(pool.map(lambda _: post(own_world, order_id, "k", json=MORE).status_code, range(4)))
    assert set(codes) <= {202, 409}
    assert len(shown(own_world, order_id)["utterances"]) == 2
    own_world.http.post(f"/v1/orders/{order_id}/cancel")
    again = post(own_world, order_id, "k", json=MORE)
    assert (again.headers["idempotency-replayed"], again.json()["status"]) == ("true", "cancelled")
    for answer in (
        post(own_world, order_id, "k", json={"transcript": "x"}),
        post(own_world, other, "k", json=MORE),
    ):
        expect_problem(answer, 422, "idempotency_mismatch")
    assert len(shown(own_world, other)["utterances"]) == 1


def fill(world: World, order_id: str) -> None:
    for _ in range(MAX_UTTERANCES - 1):
        assert post(world, order_id, json=MORE).status_code == 202


@pytest.mark.parametrize(
    ("close", "hint"),
    [
        (lambda world, order_id: world.http.post(f"/v1/orders/{order_id}/cancel"), "Make another order"),
        (
            lambda world, order_id: world.advance(
                order_id, Event.DOUBTED, reasons=(ReviewReason.NOT_ON_MENU,)
            ),
            "Wait for their decision",
        ),
        (fill, "Confirm it"),
    ],
)
def test_a_closed_order_accepts_no_more(world: World, close: Any, hint: str) -> None:
    order_id = world.text()["id"]
    close(world, order_id)
    before, recordings = shown(world, order_id), len(world.recordings)
    for sent in ({"json": MORE}, {"files": {"audio": ("a.wav", wav())}}):
        found = expect_problem(post(world, order_id, **sent), 409, "conflict")
        assert (found["title"], found["order"]) == ("The order takes no more", before)
        assert hint in found["hint"]
    assert len(world.recordings) == recordings, "the recording that was refused is gone"


@pytest.mark.parametrize(
    ("sent", "status", "code"),
    [
        ({"json": MORE | {"menu": "corner-cafe"}}, 422, "invalid_input"),
        ({"files": {"audio": ("a.wav", wav())}, "data": {"menu": "corner-cafe"}}, 422, "invalid_input"),
        ({"files": {"audio": ("a.wav", b"no sound at all")}}, 415, "unsupported_audio"),
    ],
)
def test_invalid_utterances_are_refused(world: World, sent: dict[str, Any], status: int, code: str) -> None:
    order_id = world.text()["id"]
    expect_problem(post(world, order_id, **sent), status, code)
    assert len(shown(world, order_id)["utterances"]) == 1


def test_only_the_orders_owner_can_add(world: World) -> None:
    order_id, there = world.text()["id"], "/v1/orders/{}/utterances"
    expect_problem(world.http.post(there.format("ord_none"), json=MORE), 404, "not_found")
    reads = header_for(world.parts.database, Scope.ORDERS_READ)
    expect_problem(world.http.post(there.format(order_id), json=MORE, headers=reads), 403, "forbidden")
    page = world.http.post(f"/orders/{order_id}/utterances", data=MORE)
    assert page.status_code == 404
    assert world.http.get(world.link(order_id), follow_redirects=True).status_code == 200
    page = world.http.post(f"/orders/{order_id}/utterances", data=MORE)
    assert (page.status_code, page.headers["location"]) == (303, f"/orders/{order_id}")
    files = {"audio": ("a.wav", wav())}
    assert world.http.post(f"/orders/{order_id}/utterances", files=files).status_code == 303
    assert [one["kind"] for one in shown(world, order_id)["utterances"]] == ["text", "text", "audio"]
