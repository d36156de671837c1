"""Accepted values come back unchanged: in the response, GET, the list, the webhook and the export."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from schemas.menu import Menu
from tests.endpoints import till
from tests.integration.api_world import MENU, World, expect_problem, running, wav
from tests.unit.service.test_shape import nested

# All of JSON and more: unpaired surrogates, NUL, infinities, huge integers.
TEXT = st.text(st.characters(), max_size=12) | st.text('ab\\"/~<>&{}\u2028\x00\x7f\ud800é🍔', max_size=120)
NUMBER = st.integers() | st.integers(-(2**60), 2**60) | st.floats()
VALUE: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | NUMBER | TEXT,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXT, inner, max_size=5),
    max_leaves=30,
)
METADATA = st.dictionaries(TEXT, VALUE, max_size=6)
# Hypothesis runs many examples on one API; each leaves only finished orders.
MANY = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with running(tmp_path_factory.mktemp("api"), max_audio_s=4) as shared:
        till(shared.parts.database)
        yield shared


def typed(world: World, text: str, metadata: Any) -> httpx.Response:
    body = json.dumps({"transcript": text, "menu": MENU["id"], "metadata": metadata})
    return world.http.post("/v1/orders", content=body, headers={"content-type": "application/json"})


def spoken(world: World, metadata: Any) -> httpx.Response:
    fields = {"menu": MENU["id"], "metadata": json.dumps(metadata)}
    return world.http.post("/v1/orders", files={"audio": ("a", wav())}, data=fields)


def comes_back(world: World, answer: httpx.Response, metadata: Any) -> dict[str, Any]:
    """Check an accepted order's metadata everywhere, and cancel it."""
    order: dict[str, Any] = answer.json()
    http, order_id = world.http, order["id"]
    listed = [one for one in http.get("/v1/orders").json()["orders"] if one["id"] == order_id]
    cancelled = http.post(f"/v1/orders/{order_id}/cancel")
    assert cancelled.status_code == 200
    message = next(m for m in world.parts.outbox.list(dead=False, limit=1000) if m.order_id == order_id)
    sent = json.loads(json.dumps(message.payload))["data"]
    seen = [order, *listed, http.get(f"/v1/orders/{order_id}").json(), cancelled.json(), sent]
    assert [one["metadata"] for one in seen] == [metadata] * 5
    history = http.get(f"/v1/orders/{order_id}/events")
    assert (history.status_code, history.text.count('"status":"cancelled"')) == (200, 1)
    return order


@MANY
@given(METADATA)
@example(nested(8))
@example(nested(9))
@example(nested(256))
@example({"a": 2**53 - 1})
@example({"a": 2**53})
@example({"a": "x" * 7_992})
@example({"a": "x" * 7_993})
@example({"a": -0.0, "b": 5e-324, "c": 1.7976931348623157e308})
def test_metadata_round_trips_in_both_request_formats(world: World, metadata: Any) -> None:
    text, form = typed(world, "a latte", metadata), spoken(world, metadata)
    assert (text.status_code == 202) == (form.status_code == 202), (text.text, form.text)
    for answer in (text, form):
        if answer.status_code == 202:
            comes_back(world, answer, metadata)
            continue
        assert answer.status_code in (400, 422)
        assert answer.json()["hint"]
        places = [error["pointer"] for error in answer.json()["errors"]]
        assert answer.status_code == 400 or all(place.startswith("/metadata") for place in places)


@MANY
@given(TEXT | st.text(max_size=2_100))
def test_transcripts_round_trip(world: World, text: str) -> None:
    answer = typed(world, text, None)
    if answer.status_code == 202:
        assert comes_back(world, answer, None)["transcript"]["text"] == text
    else:
        assert answer.status_code in (400, 422)


@MANY
@given(st.lists(TEXT | st.text(max_size=80), min_size=1, max_size=3), TEXT)
def test_menus_round_trip(world: World, names: list[str], category: str) -> None:
    items = [{"sku": f"x{n}", "name": name, "category": category, "price": n} for n, name in enumerate(names)]
    document = {"id": "odd", "name": "odd", "currency": "USD", "items": items}

    def put(content: str) -> httpx.Response:
        return world.http.put("/v1/menus/odd", content=content, headers={"content-type": "application/json"})

    answer = put(json.dumps(document))
    if answer.status_code not in (200, 201):
        assert answer.status_code in (400, 422), answer.text
        return
    exported = world.http.get("/v1/menus/odd")
    # The schema defines what an import normalizes, such as spaces around names.
    assert exported.json() == Menu.parse(document).model_dump(mode="json", exclude_none=True)
    assert put(exported.text).status_code == 200, "the same again is no new version"


@pytest.mark.parametrize(
    ("path", "method", "body"),
    [
        ("/v1/menus/corner-cafe", "PUT", MENU | {"name": nested(40)}),
        ("/v1/menus/corner-cafe", "PUT", MENU | {"x" * 300: 1}),
        ("/v1/orders", "POST", {"transcript": "x", "menu": "m", "metadata": nested(40)}),
        ("/v1/reviews/none/decision", "POST", {"version": 10**20, "action": "approve"}),
        ("/v1/orders/none/answer", "POST", {"question": nested(150), "answer": "x"}),
    ],
)
def test_all_bodies_have_the_same_limits(world: World, path: str, method: str, body: Any) -> None:
    problem = expect_problem(world.http.request(method, path, json=body), 422, "invalid_input")
    assert problem["errors"][0]["pointer"].startswith("/")
