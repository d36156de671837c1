"""The examples over HTTP: against saycart's real API, and stand-ins for Square, Twilio and LiveKit."""

from __future__ import annotations

import asyncio
import base64
import hmac
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import httpx
import pytest
from jsonschema import Draft202012Validator
from square.types.create_order_request import CreateOrderRequest

from infra.processes.ports import any_free
from infra.settings import REPOSITORY
from infra.webhooks import signed
from saycart_client import AsyncSaycart, LiveOrder, Saycart
from saycart_client.models import Cart
from schemas.cart import CartDraft
from schemas.menu import Menu
from services.cli.samples import load_menus
from services.examples import livekit_tool, till
from services.storage.outbox.endpoints import EndpointStore
from tests.clients.generated import PYTHON
from tests.clients.service import CART, MENU, TEXT, at_work, key_of
from tests.integration import api_world
from tests.integration.api_world import World, wav
from tests.servers.loopback import Handler, serving
from tests.stand_ins import TESTER
from tests.waiting import until

world = api_world.world
LATTE, MUFFIN = CART.lines
SMALL = CartDraft(lines=(LATTE.model_copy(update={"size": "S"}), MUFFIN))


@pytest.fixture
def saycart(world: World) -> Saycart:
    return Saycart(key_of(world), world.url, http=httpx.Client(trust_env=False))


def endpoint(world: World, port: int, **of: Any) -> str:
    """Add an endpoint for completed orders; return its secret."""
    store, url = EndpointStore(world.parts.database, "main", "private"), f"http://127.0.0.1:{port}/"
    return store.add("main", url, ["order.completed"], by=TESTER, **of)[1]


@contextmanager
def example(name: str, world: World, folder: Path, port: int, **variables: str) -> Iterator[str]:
    """Run an example with only saycart-client; its output is in `folder`/printed."""
    there = {"KEY": key_of(world), "SAYCART": world.url, "PORT": str(port), "NO_PROXY": "*"} | variables
    with (folder / "printed").open("w") as printed:
        process = subprocess.Popen(
            [sys.executable, str(REPOSITORY / f"services/examples/{name}.py")],
            cwd=folder,
            env=os.environ | there | {"PYTHONPATH": str(PYTHON.parents[1])},
            stdout=printed,
        )
    try:
        until(lambda: listens(port))
        yield f"http://127.0.0.1:{port}/"
    finally:
        process.terminate()
        process.wait(10)


def listens(port: int) -> bool:
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0


def posted(url: str, secret: str, message: dict[str, Any]) -> int:
    body = json.dumps(message)
    headers = signed(secret, "msg_1", body, datetime.now(UTC))
    return httpx.post(url, content=body, headers=headers, trust_env=False, timeout=20).status_code


def message(order: LiveOrder, **more: Any) -> dict[str, Any]:
    """Return the `order.completed` message that a till gets."""
    fields = order.model_dump(mode="json", include={"menu", "cart", "status", "metadata", "error"})
    data = fields | {"order_id": order.id, "shop": "main", "seq": 9, **more}
    return {"type": "order.completed", "timestamp": "2026-01-05T09:30:12Z", "data": data}


def test_the_till_prints_and_takes_each_completed_order_once(
    world: World, saycart: Saycart, tmp_path: Path
) -> None:
    port = any_free()
    secret = endpoint(world, port)
    with at_work(world, carts=[SMALL]), example("till", world, tmp_path, port, SECRET=secret) as url:
        order = saycart.order(TEXT, MENU).wait()
        until(lambda: saycart.get(order.id).taken_at)
        ticket = f"{order.id}\n1 x small latte\n1 x blueberry muffin\n"
        until((tmp_path / f"tickets/{order.id}.txt").exists)
        assert posted(url, secret, message(order)) == 204, "once more"
        cancelled = saycart.order(TEXT, MENU, confirm=True).wait().cancel()
        assert posted(url, secret, message(cancelled)) == 204
        assert posted(url, "whsec_c29tZWJvZHk=", message(order)) == 401
        assert posted(url, secret, message(cancelled, order_id="ord_0")) == 503, "to be sent again"
    assert (tmp_path / f"tickets/{order.id}.txt").read_text() == ticket
    assert (tmp_path / "printed").read_text().startswith(f"{ticket}\n404")


def test_a_ticket_has_every_note_and_every_change() -> None:
    shown = {"group": "x", "price": 0}
    options = [
        {"id": "oat", "name": "oat milk", "amount": "normal", "count": 1, **shown},
        {"id": "shot", "name": "shot", "amount": "normal", "count": 2, **shown},
        {"id": "foam", "name": "foam", "amount": "none", "count": 1, **shown},
        {"id": "cocoa", "name": "cocoa", "amount": "extra", "count": 1, "portion": "left", **shown},
    ]
    line = {"kind": "item", "heard": {"text": ""}, "name": "latte", "quantity": 2, "size_name": "large"}
    changed = {"options": options, "allergens": ["milk", "soy"], "confidence": 1}
    notes = [{"kind": "allergy", "text": "no nuts"}, {"kind": "preparation", "text": "very hot", "line": 0}]
    cart = {"currency": "USD", "menu": {"id": "m", "version": 1}, "total": 0, "notes": notes}
    whole = Cart.model_validate(cart | {"lines": [line | changed]})
    assert till.ticket("ord_1", whole).splitlines() == [
        "ord_1", "ALLERGY: no nuts", "2 x large latte", "    oat milk", "    2 x shot", "    no foam",
        "    extra cocoa (left half)", "    contains milk, soy", "    PREPARATION: very hot",
    ]  # fmt: skip


def with_refs(document: dict[str, Any]) -> Menu:
    """Return the menu with references to Square."""
    for item in document["items"]:
        item["ref"] = item["sku"].upper()
        item["size_refs"] = {size: f"{item['ref']}-{size}" for size in item.get("prices", {})}
    return Menu.parse(document)


def test_a_completed_order_is_created_in_square_once(world: World, saycart: Saycart, tmp_path: Path) -> None:
    port, sent = any_free(), list[dict[str, Any]]()

    class Square(Handler):
        def do_POST(self) -> None:
            assert (self.path, self.headers["Authorization"]) == ("/v2/orders", "Bearer sandbox")
            sent.append(json.loads(self.body()))
            self.answer(500 if len(sent) == 1 else 200, b"{}")

    secret = endpoint(world, port, till="square", location="L1")
    with at_work(world, carts=[SMALL]), serving(Square) as square:
        world.parts.menus.put(with_refs(load_menus()[MENU]), by=TESTER)
        variables = {"SECRET": secret, "SQUARE": square, "SQUARE_TOKEN": "sandbox"}
        with example("square_till", world, tmp_path, port, **variables) as url:
            order = saycart.order(TEXT, MENU).wait()
            until(lambda: len(sent) == 2)
            refused = [{"code": "no_ref", "message": "Square doesn't know the latte."}]
            assert posted(url, secret, message(order, refusals=refused)) == 204
            assert posted(url, "whsec_c29tZWJvZHk=", sent[0]) == 401
    assert sent[0] == sent[1], "the same at each try"
    assert sent[0]["idempotency_key"] == order.id
    created = CreateOrderRequest.model_validate(sent[0]).order
    assert created
    assert created.fulfillments
    assert [line.catalog_object_id for line in created.line_items or ()] == ["LATTE-S", "BLUEBERRY-MUFFIN"]
    assert saycart.get(order.id).taken_at
    assert f"Key in {order.id} by hand: Square doesn't know the latte." in (tmp_path / "printed").read_text()


ACCOUNT, PUBLIC = ("AC1", "12345"), "https://mycompany.com"
# A request and its signature, as Twilio's documents show them.
SHOWN = "/myapp.php?foo=1&bar=2", {
    "CallSid": "CA1234567890ABCDE", "Caller": "+12349013030", "Digits": "1234", "From": "+12349013030",
    "To": "+18005551212",
}  # fmt: skip
SHOWN_SIGNATURE = "0/KCTR6DLpKmkAf8muzZqo1nDgQ="


def called(url: str, path: str, form: dict[str, str], signature: str = "") -> httpx.Response:
    """The answer to a request as Twilio sends it."""
    text = PUBLIC + path + "".join(name + form[name] for name in sorted(form))
    right = base64.b64encode(hmac.digest(ACCOUNT[1].encode(), text.encode(), "sha1")).decode()
    headers = {"X-Twilio-Signature": signature or right}
    return httpx.post(url + path[1:], data=form, headers=headers, trust_env=False, timeout=20)


def test_a_call_becomes_an_order_and_hears_its_cart_or_that_a_person_looks(
    world: World, saycart: Saycart, tmp_path: Path
) -> None:
    asked = list[str]()

    class Twilio(Handler):
        def do_GET(self) -> None:
            asked.append(self.path)
            right = f"Basic {base64.b64encode(':'.join(ACCOUNT).encode()).decode()}"
            ready = len(asked) > 1 and self.headers["Authorization"] == right
            self.answer(200 if ready else 404, wav() if ready else b"")

    variables = {"PUBLIC": PUBLIC, "ACCOUNT": ACCOUNT[0], "TOKEN": ACCOUNT[1], "MENU": MENU}
    with (
        at_work(world, carts=[CART, SMALL]),
        serving(Twilio) as twilio,
        example("twilio_call", world, tmp_path, any_free(), **variables) as url,
    ):
        assert called(url, "/", {"From": "+1"}, SHOWN_SIGNATURE).status_code == 403
        begun = ElementTree.fromstring(called(url, *SHOWN, SHOWN_SIGNATURE).content)
        assert [step.tag for step in begun] == ["Say", "Record"]
        one, two = (
            {"RecordingUrl": f"{twilio}/{sid}", "RecordingSid": sid, "From": ""} for sid in ("RE1", "RE2")
        )
        assert "A colleague will look" in called(url, "/", one).text
        made = called(url, "/", two).text
        assert made == called(url, "/", two).text, "the same recording is the same order"
        assert "We are making 1 small latte, 1 blueberry muffin. That is 8.20 USD." in made
    assert asked == ["/RE1.wav", "/RE1.wav", "/RE2.wav", "/RE2.wav"]


def test_an_agent_says_what_its_tool_returns(world: World) -> None:
    Draft202012Validator.check_schema(livekit_tool.SCHEMA["parameters"])

    async def conversation() -> list[str]:
        async with AsyncSaycart(key_of(world), world.url, http=httpx.AsyncClient(trust_env=False)) as saycart:
            order = livekit_tool.SpokenOrder(saycart, MENU)
            return [await order.add(wav(), yes) for yes in (True, False, True)]

    with at_work(world, carts=[CART, SMALL]):
        assert asyncio.run(conversation()) == [
            "Small, medium or large latte?",
            "1 small latte, 1 blueberry muffin. That is 8.20 USD. Is that right?",
            "Your order is being made.",
        ]
