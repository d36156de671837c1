"""The Python client against the real API over HTTP, sync and async."""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from inspect import iscoroutine
from typing import Any

import httpx
import pytest
from standardwebhooks import Webhook

from infra.processes.ports import any_free
from infra.settings import REPOSITORY
from saycart_client import AsyncSaycart, Saycart, errors, verify
from tests.clients.service import MENU, TEXT, at_work, key_of
from tests.endpoints import SECRET
from tests.integration import api_world
from tests.integration.api_world import World, wav

world = api_world.world
BOTH = pytest.mark.parametrize("kind", ["sync", "async"])


class Driven:
    """Wraps an asyncio client and its results, to call them without await."""

    def __init__(self, of: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._of, self._loop = of, loop

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._of, name)
        return (lambda *args, **named: self._result(found(*args, **named))) if callable(found) else found

    def _result(self, found: Any) -> Any:
        if iscoroutine(found):
            found = self._loop.run_until_complete(found)
        return Driven(found, self._loop) if hasattr(found, "wait") else found


@pytest.fixture
def connect(kind: str) -> Iterator[Callable[..., Any]]:
    """Return a function that creates a client of this kind: `connect(key, url)`."""
    with asyncio.Runner() as runner:

        def made(key: str, url: str, answer: Callable[[httpx.Request], httpx.Response] | None = None) -> Any:
            how = {"transport": httpx.MockTransport(answer)} if answer else {"trust_env": False}
            if kind == "sync":
                return Saycart(key, url, http=httpx.Client(**how))  # type: ignore[arg-type]
            client = AsyncSaycart(key, url, http=httpx.AsyncClient(**how))  # type: ignore[arg-type]
            return Driven(client, runner.get_loop())

        yield made


@pytest.fixture(scope="module")
def shop(world: World) -> Iterator[World]:
    with at_work(world):
        yield world


@pytest.fixture
def saycart(shop: World, connect: Callable[..., Any]) -> Any:
    return connect(key_of(shop), shop.url)


@BOTH
@pytest.mark.parametrize("what", [TEXT, wav(), next((REPOSITORY / "infra/samples/recordings").glob("*"))])
def test_an_order_is_asked_about_confirmed_and_taken(saycart: Any, what: Any) -> None:
    order = saycart.order(what, MENU, confirm=True, metadata={"table": 7}).wait()
    order = order.answer(order.question.answers[0])
    assert (order.status, order.question, order.metadata) == ("needs_confirmation", None, {"table": 7})
    order = order.say(what).wait()
    assert (order.status, len(order.utterances), order.changed) == ("needs_confirmation", 2, [])
    order = order.confirm().take()
    assert (order.status, order.cart.total, order.cart.lines[0].size) == ("completed", 820, "S")
    assert saycart.get(order.id).taken_at


@BOTH
def test_one_key_is_one_order(saycart: Any, kind: str) -> None:
    first, again = (saycart.order(TEXT, MENU, idempotency_key=kind) for _ in "ab")
    assert first.id == again.id
    assert first.cancel().status == "cancelled"


REFUSED: dict[str, tuple[type[errors.ProblemError], Callable[[Any], Any]]] = {
    "unknown_menu": (errors.InvalidRequest, lambda saycart: saycart.order(TEXT, "nowhere")),
    "not_found": (errors.NotFound, lambda saycart: saycart.get("ord_0")),
    "conflict": (errors.Conflict, lambda saycart: saycart.order(TEXT, MENU).cancel().confirm()),
    "unsupported_audio": (errors.InvalidRequest, lambda saycart: saycart.order(b"noise" * 9, MENU)),
}


@BOTH
@pytest.mark.parametrize("code", REFUSED)
def test_a_refusal_is_an_error_of_its_kind(saycart: Any, code: str) -> None:
    kind, call = REFUSED[code]
    with pytest.raises(kind) as refusal:
        call(saycart)
    assert refusal.value.problem.code == code
    assert refusal.value.hint
    assert bool(refusal.value.order) == (code == "conflict")


@BOTH
def test_a_wrong_key_a_wrong_address_and_an_order_that_stays_are_named(
    shop: World, connect: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(errors.NotAllowed):
        connect("saycart_wrong", shop.url).get("ord_0")
    monkeypatch.setattr("saycart_client.core.TRIES", 1)
    with pytest.raises(errors.Unreachable):
        connect("key", f"http://127.0.0.1:{any_free()}").get("ord_0")
    with pytest.raises(errors.NotSettled):
        connect(key_of(shop), shop.url).order(TEXT, MENU).wait(0)


def problem(status: int, *, retryable: bool = True, after: str = "0") -> httpx.Response:
    document = {"type": "/problems/x", "title": "", "status": status, "detail": "", "hint": "", "code": "x"}
    document |= {"retryable": retryable, "request_id": ""}
    return httpx.Response(status, json=document, headers={"Retry-After": after})


def cut() -> httpx.Response:
    raise httpx.ReadError("cut")


@BOTH
@pytest.mark.parametrize(
    ("answer", "call", "error", "sent"),
    [
        (lambda: problem(503), lambda order: order.cancel(), errors.Unavailable, 4),
        (lambda: problem(503, after="3600"), lambda order: order.cancel(), errors.Unavailable, 1),
        (lambda: problem(409, retryable=False), lambda order: order.confirm(), errors.Conflict, 1),
        (lambda: problem(429), lambda order: order.confirm(), errors.Unavailable, 4),
        (cut, lambda order: order.cancel(), errors.Unreachable, 4),
        (cut, lambda order: order.confirm(), errors.Unreachable, 1),  # it may have been confirmed
        (lambda: httpx.Response(502, text="<html>"), lambda order: order.take(), errors.Unreachable, 4),
    ],
)
def test_what_may_help_is_sent_again(
    connect: Callable[..., Any],
    shop: World,
    monkeypatch: pytest.MonkeyPatch,
    answer: Callable[[], httpx.Response],
    call: Callable[[Any], Any],
    error: type[errors.SaycartError],
    sent: int,
) -> None:
    monkeypatch.setattr("random.uniform", lambda *_: 0)
    order, asked = shop.http.post("/v1/orders", json={"transcript": TEXT, "menu": MENU}).json(), []

    def answered(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/v1/orders":
            asked.append(request.headers["Idempotency-Key"])
            return problem(503) if len(asked) == 1 else httpx.Response(202, json=order)
        asked.append(request.method)
        return answer()

    live = connect("key", "http://saycart.test", answered).order(TEXT, MENU)
    assert asked[0] == asked[1], "an order is sent again under its key"
    with pytest.raises(error):
        call(live)
    assert len(asked) == 2 + sent


MESSAGE = (
    b'{"type": "order.completed", "timestamp": "2026-01-05T09:30:12Z", "data": {"order_id": "ord_1", "shop": '
    b'"main", "seq": 9, "status": "completed", "menu": {"id": "m", "version": 3}, "cart": null, "metadata": '
    b'null, "error": null, "of_a_later_version": 1}}'
)


@pytest.mark.parametrize(
    ("body", "secret", "age_s", "change", "fits"),
    [
        (MESSAGE, SECRET, 0, {}, True),
        (MESSAGE, SECRET, 240, {}, True),
        (MESSAGE, SECRET, 360, {}, False),
        (MESSAGE, SECRET, -360, {}, False),
        (MESSAGE.replace(b"main", b"mine"), SECRET, 0, {}, False),
        (MESSAGE, "whsec_" + base64.b64encode(b"another").decode(), 0, {}, False),
        (MESSAGE, "whsec_é", 0, {}, False),
        (MESSAGE, SECRET, 0, {"webhook-id": "msg_2"}, False),
        (MESSAGE, SECRET, 0, {"webhook-timestamp": "soon"}, False),
        *((MESSAGE, SECRET, 0, {"webhook-signature": bad}, False) for bad in ("", "v1", "v1,é", "v2,AAAA")),
    ],
)
def test_a_webhook_is_believed_by_its_signature_alone(
    body: bytes, secret: str, age_s: int, change: dict[str, str], fits: bool
) -> None:
    at = datetime.fromtimestamp(time.time() - age_s, UTC)
    signature = Webhook(SECRET).sign("msg_1", at, MESSAGE.decode())
    headers = {"Webhook-Id": "msg_1", "webhook-timestamp": str(int(at.timestamp()))}
    headers |= {"WEBHOOK-SIGNATURE": f"v1,b3RoZXI= {signature}"} | change
    if fits:
        assert verify(body, headers, secret).data.order_id == "ord_1"
        del headers["Webhook-Id"]
    with pytest.raises(errors.InvalidSignature):
        verify(body, headers, secret)
