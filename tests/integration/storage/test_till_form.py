"""Orders in a till's format: what its endpoint gets, and the dry run."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from click.testing import Result

from infra.sql.database import Database
from infra.webhooks import PostResult
from schemas.cart import CartDraft
from schemas.lifecycle import Event
from schemas.menu import Menu
from schemas.priced_cart import Cart
from schemas.records.orders import OrderRecord, Outcome
from schemas.shops.access import EVERY_SHOP
from schemas.transcript import Transcript
from services.storage.orders.store import OrderStore
from services.storage.outbox.endpoints import EndpointStore
from services.storage.outbox.store import Outbox
from services.storage.shops.menus import MenuStore
from services.tills.orders.sending import in_till_form
from services.validation.price import price_cart
from services.workers.courier import Courier, RetryPolicy
from tests.integration.storage.test_outbox import TYPED
from tests.stand_ins import TESTER

URL = "https://8.8.8.8/hook"


def ordered(database: Database, ref: str | None, *, sold_out: bool = False) -> OrderRecord:
    """A confirmed order for an item with this till `ref`."""
    item = {"sku": "pie", "name": "pie", "price": 900} | ({"ref": ref} if ref else {})
    document: dict[str, Any] = {"id": "cafe", "name": "Cafe", "currency": "USD", "items": [item]}
    menus = MenuStore(database, "main")
    stored, _ = menus.put(Menu.parse(document), by=TESTER)
    if sold_out:
        menus.put(Menu.parse(document | {"items": [item | {"available": False}]}), by=TESTER)
    draft = CartDraft.model_validate(
        {"lines": [{"kind": "item", "heard": "pie", "sku": "pie", "quantity": 2}]}
    )
    cart: Cart = price_cart(draft, stored.menu, 1, Transcript(text="pie", confidence=1), [])
    orders = OrderStore(database, "main")
    order, _ = orders.create(TYPED)
    for event in (Event.DECODED, Event.PROPOSED, Event.CONFIRMED):
        order = orders.commit(order, Outcome(event, cart=cart))
    return order


def sent(database: Database) -> list[dict[str, Any]]:
    """Return the bodies that a courier posts, in order."""
    bodies: list[dict[str, Any]] = []

    def post(_target: object, _message_id: str, body: str) -> PostResult:
        bodies.append(json.loads(body))
        return PostResult(204, "")

    outbox, target = Outbox(database), EndpointStore(database, EVERY_SHOP, "public").target
    form = partial(in_till_form, MenuStore(database, EVERY_SHOP))
    courier = Courier(outbox, post, target, RetryPolicy(1, 1, 1), form=form)
    while due := outbox.endpoints_due():
        for message in outbox.claim(limit=9, lease_s=60, endpoint_id=due[0]):
            courier.deliver(message)
    return bodies


def test_only_completed_orders_are_sent_in_the_tills_format(database: Database) -> None:
    EndpointStore(database, "main", "public").add("main", URL, by=TESTER, till="square", location="L1")
    order = ordered(database, "PIE")
    asked, completed = sent(database)
    assert asked["type"] == "order.needs_confirmation"
    assert (completed["idempotency_key"], completed["order"]["location_id"]) == (order.id, "L1")
    [line] = completed["order"]["line_items"]
    assert (line["catalog_object_id"], line["quantity"]) == ("PIE", "2")


@pytest.mark.parametrize(
    ("ref", "sold_out", "code"), [(None, False, "no_ref"), ("PIE", True, "item_unavailable")]
)
def test_an_order_that_the_till_would_refuse_is_sent_in_our_format(
    database: Database, ref: str | None, sold_out: bool, code: str
) -> None:
    EndpointStore(database, "main", "public").add("main", URL, by=TESTER, till="square", location="L1")
    order = ordered(database, ref, sold_out=sold_out)
    _, completed = sent(database)
    assert (completed["type"], completed["data"]["order_id"]) == ("order.completed", order.id)
    assert [(one["code"], one["line"]) for one in completed["data"]["refusals"]] == [(code, 0)]


def test_an_order_is_sent_even_if_conversion_fails(database: Database) -> None:
    """A later release's cart may fail to convert."""
    EndpointStore(database, "main", "public").add("main", URL, by=TESTER, till="deliverect")
    order = OrderStore(database, "main").create(TYPED)[0]
    for event in (Event.DECODED, Event.ACCEPTED):
        order = OrderStore(database, "main").commit(order, Outcome(event))
    [completed] = sent(database)
    assert completed["data"]["order_id"] == order.id


def test_the_command_line(saycart: Callable[..., Result], database: Database) -> None:
    def run(*words: str, code: int = 0) -> Result:
        done = saycart(*words, webhook_endpoints="public")
        assert done.exit_code == code, done.output
        return done

    run("webhooks", "add", URL, "--till", "square", code=1)
    run("webhooks", "add", URL, "--till", "square", "--location", "L1")
    assert "square L1" in run("webhooks", "endpoints").output
    order = ordered(database, "PIE")
    words = ("till", "dry-run", order.id, "--till", "square")
    body = json.loads(run(*words, "--location", "L1").stdout)
    assert json.loads(run(*words, "--location", "L1", "--calculate").stdout) == {"order": body["order"]}
    refused = run(*words, code=1)
    assert "location_id" not in refused.stdout
    assert "(no_location)" in refused.stderr
