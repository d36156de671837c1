"""Orders over HTTP: accepting, reading, waiting, cancelling, following."""

from __future__ import annotations

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from schemas.cart import CartDraft
from schemas.decision import ModelAnswer
from schemas.lifecycle import Event, State
from schemas.menu import Menu
from schemas.review import ReviewReason
from schemas.transcript import Transcript
from services.validation.facts import check_facts
from tests.integration import api_world
from tests.integration.api_world import MENU, World, expect_problem, wav
from tests.stand_ins import TESTER
from tests.waiting import until

world, own_world, lone_world = api_world.world, api_world.own_world, api_world.lone_world


def audio(content: bytes | None = None, name: str = "order.wav") -> dict[str, Any]:
    return {"audio": (name, wav() if content is None else content, "application/x-nonsense")}


def test_a_recording_is_accepted(world: World) -> None:
    fields = {"menu": MENU["id"], "language": "EN", "metadata": '{"table": 7}'}
    answer = world.http.post("/v1/orders", files=audio(name="../../etc/passwd"), data=fields)
    assert answer.status_code == 202
    order = answer.json()
    assert answer.headers["location"] == f"/v1/orders/{order['id']}"
    assert int(answer.headers["retry-after"]) >= 1
    assert answer.headers["etag"] == 'W/"1"'
    assert order["status"] == "queued"
    assert order["stage"] == "transcribe"
    assert order["source"] == "audio"
    assert order["menu"] == {"id": MENU["id"], "version": 1}
    assert order["metadata"] == {"table": 7}
    record = world.parts.orders.get(order["id"])
    assert record.audio_format == "wav"
    assert record.audio_key is not None
    assert world.parts.blobs.path(record.audio_key).read_bytes() == wav()
    until(lambda: (order["id"], State.RECEIVED, 0.0) in world.parts.doorbell.rung)


def test_a_transcript_is_accepted_and_waits_to_be_decoded(world: World) -> None:
    order = world.text("two large oat lattes", metadata={"deep": {"er": [1, None]}})
    assert order["source"] == "transcript"
    assert order["transcript"]["text"] == "two large oat lattes"
    assert order["transcript"]["confidence"] == 1
    assert order["stage"] == "decode"
    assert order["metadata"] == {"deep": {"er": [1, None]}}
    until(lambda: (order["id"], State.TRANSCRIBED, 0.0) in world.parts.doorbell.rung)


def test_the_menu_may_be_omitted_if_there_is_only_one(lone_world: World) -> None:
    assert lone_world.http.post("/v1/orders", files=audio()).json()["menu"]["id"] == MENU["id"]
    lone_world.parts.menus.put(Menu.parse({**MENU, "id": "other"}), by=TESTER)
    found = expect_problem(lone_world.http.post("/v1/orders", files=audio()), 422, "invalid_input")
    assert [error["pointer"] for error in found["errors"]] == ["/menu"]
    assert "other" in found["detail"]


def test_orders_are_accepted_at_once_without_redis(
    lone_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(order_id: str, state: State) -> bool:
        rung.append(order_id)
        time.sleep(1)
        return False

    rung: list[str] = []
    monkeypatch.setattr(lone_world.parts.doorbell, "ring", slow)
    started = time.monotonic()
    with ThreadPoolExecutor(10) as pool:
        list(pool.map(lambda n: lone_world.text(f"order {n}"), range(30)))
    assert lone_world.http.get("/v1/orders?limit=1").status_code == 200
    assert time.monotonic() - started < 3
    time.sleep(1.2)
    lone_world.text()
    assert len(rung) <= 8, "each order waited for a broker that was known to be away"


def test_a_repeated_idempotency_key_returns_the_first_order(own_world: World) -> None:
    def send(metadata: str = '{"a": 1, "b": 2}', key: str = "k-1", **headers: str) -> httpx.Response:
        return own_world.http.post(
            "/v1/orders",
            files=audio(),
            data={"metadata": metadata},
            headers={"Idempotency-Key": key, **headers},
        )

    first = send()
    assert "idempotency-replayed" not in first.headers
    again = send('{"b":2,"a":1}')
    assert again.status_code == 202
    assert again.headers["idempotency-replayed"] == "true"
    assert again.json() == first.json()
    assert len(own_world.recordings) == 1
    expect_problem(send('{"a": 2}'), 422, "idempotency_mismatch")
    assert len(own_world.recordings) == 1
    other = send(**own_world.bearing("bob"))
    assert other.json()["id"] != first.json()["id"]
    until(lambda: len(own_world.parts.doorbell.rung) == 2)


@pytest.mark.parametrize("key", ["", "a b", "x" * 201, "caf\u00e9"])
def test_an_invalid_idempotency_key_is_refused(world: World, key: str) -> None:
    answer = world.http.post(
        "/v1/orders", json={"transcript": "x", "menu": MENU["id"]}, headers={"Idempotency-Key": key.encode()}
    )
    assert expect_problem(answer, 422, "invalid_input")["errors"][0]["pointer"] == "/header/Idempotency-Key"


def test_concurrent_requests_with_one_key_create_one_order(own_world: World) -> None:
    gate = threading.Barrier(20)

    def send(_: int) -> httpx.Response:
        with httpx.Client(base_url=own_world.url, timeout=40, headers=own_world.people["ada"]) as http:
            gate.wait()
            return http.post("/v1/orders", files=audio(), headers={"Idempotency-Key": "all"})

    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(send, range(20)))
    assert {answer.status_code for answer in answers} == {202}
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert sum("idempotency-replayed" in answer.headers for answer in answers) == 19
    assert len(own_world.recordings) == 1
    assert sum(own_world.parts.orders.counts().values()) == 1


def test_a_long_poll_ends_at_its_timeout(world: World) -> None:
    order_id = world.text()["id"]
    started = time.monotonic()
    assert world.http.get(f"/v1/orders/{order_id}?wait=0.5").json()["status"] == "processing"
    assert 0.4 < time.monotonic() - started < 3
    expect_problem(world.http.get(f"/v1/orders/{order_id}?wait=31"), 422, "invalid_input")


def test_etags_avoid_known_responses(world: World) -> None:
    order_id = world.text()["id"]
    tag = world.http.get(f"/v1/orders/{order_id}").headers["etag"]
    known = {"If-None-Match": tag}
    answer = world.http.get(f"/v1/orders/{order_id}", headers=known)
    assert answer.status_code == 304
    assert answer.headers["etag"] == tag
    assert not answer.content
    assert world.http.get(f"/v1/orders/{order_id}?wait=0.3", headers=known).status_code == 304
    threading.Timer(0.3, lambda: world.advance(order_id, Event.DECODED)).start()
    changed = world.http.get(f"/v1/orders/{order_id}?wait=20", headers=known)
    assert changed.status_code == 200
    assert changed.json()["stage"] == "validate"
    assert changed.headers["etag"] != tag


def test_listing_pages_through_orders_newest_first(own_world: World) -> None:
    sent = [own_world.text(f"order {n}")["id"] for n in range(5)]
    own_world.http.post(f"/v1/orders/{sent[2]}/cancel")
    seen: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        query = {"limit": "2"} | ({"cursor": cursor} if cursor else {})
        page = own_world.http.get("/v1/orders", params=query).json()
        seen += [order["id"] for order in page["orders"]]
        cursor = page["next_cursor"]
    assert seen == sent[::-1]
    only = own_world.http.get("/v1/orders?status=cancelled").json()
    assert [order["id"] for order in only["orders"]] == [sent[2]]
    expect_problem(own_world.http.get("/v1/orders?status=lost"), 422, "invalid_input")
    expect_problem(own_world.http.get("/v1/orders?cursor=%21nonsense"), 422, "invalid_input")


def test_orders_can_be_cancelled_until_they_end(world: World) -> None:
    order_id = world.text()["id"]
    for _ in range(2):
        answer = world.http.post(f"/v1/orders/{order_id}/cancel")
        assert answer.status_code == 200
        assert answer.json()["status"] == "cancelled"
    ended = world.text()["id"]
    world.advance(ended, Event.BROKE)
    found = expect_problem(world.http.post(f"/v1/orders/{ended}/cancel"), 409, "conflict")
    assert found["order"]["status"] == "error"


def _asks(world: World) -> str:
    """An order in review with only a missing size."""
    order_id: str = world.text()["id"]
    latte = CartDraft.model_validate(
        {"lines": [{"kind": "item", "heard": "a latte", "sku": "latte", "quantity": 1}]}
    )
    findings = tuple(check_facts(latte, Menu.parse(MENU)))
    sure = ModelAnswer(probability=1.0)
    world.advance(order_id, Event.DECODED, draft=latte, findings=findings, answer=sure)
    world.advance(order_id, Event.DOUBTED, reasons=(ReviewReason.BLOCKING_FINDING,))
    return order_id


def test_an_answer_completes_the_order_without_review(own_world: World) -> None:
    order_id = _asks(own_world)
    question = own_world.http.get(f"/v1/orders/{order_id}").json()["question"]
    assert question["text"] == "Small or large latte?"
    url = f"/v1/orders/{order_id}/answer"
    wrong = own_world.http.post(url, json={"question": question["id"], "answer": "XL"})
    expect_problem(wrong, 422, "invalid_cart")
    order = own_world.http.post(url, json={"question": question["id"], "answer": "L"}).json()
    assert order["status"] == "completed"
    assert order["cart"]["total"] == 550
    assert order["question"] is None
    assert order["review"]["status"] == "withdrawn"
    types = [event["event"] for event in _stream(own_world, order_id)]
    assert types[-1] == "answered"
    late = own_world.http.post(url, json={"question": question["id"], "answer": "S"})
    assert expect_problem(late, 409, "conflict")["order"]["cart"]["total"] == 550


def test_a_customers_answer_does_not_override_a_reviewer(own_world: World) -> None:
    order_id = _asks(own_world)
    review = own_world.parts.reviews.by_order(order_id)
    own_world.http.post(f"/v1/reviews/{review.id}/claim")
    given = own_world.http.post(f"/v1/orders/{order_id}/answer", json={"question": "0/size", "answer": "L"})
    assert expect_problem(given, 409, "conflict")["order"]["status"] == "needs_review"
    assert own_world.parts.reviews.get(review.id).claimed_by == "ada"


def _stream(world: World, order_id: str, after: int | None = None) -> list[dict[str, str]]:
    """Read an event stream to its end."""
    headers = {} if after is None else {"Last-Event-ID": str(after)}
    found: list[dict[str, str]] = []
    with world.http.stream("GET", f"/v1/orders/{order_id}/events", headers=headers, timeout=20) as got:
        assert got.status_code == 200
        assert got.headers["content-type"].startswith("text/event-stream")
        event: dict[str, str] = {}
        for line in got.iter_lines():
            name, _, value = line.partition(": ")
            if line:
                event[name] = value
            elif event:
                found.append(event)
                event = {}
    return found


def test_events_are_live_and_resume(world: World) -> None:
    order_id = world.http.post("/v1/orders", files=audio()).json()["id"]

    def work() -> None:
        time.sleep(0.4)
        world.advance(order_id, Event.TRANSCRIBED, transcript=Transcript(text="a latte", confidence=0.9))
        time.sleep(0.4)
        world.advance(order_id, Event.DECODED)
        world.advance(order_id, Event.ACCEPTED)

    worker = threading.Thread(target=work)
    worker.start()
    events = _stream(world, order_id)
    worker.join()
    kinds = ["received", "transcribed", "decoded", "accepted"]
    assert [event["event"] for event in events] == kinds
    data = [json.loads(event["data"]) for event in events]
    assert [str(shown["seq"]) for shown in data] == [event["id"] for event in events]
    assert data[0]["stage"] == "transcribe"
    assert data[-1]["status"] == "completed"
    assert data[-1]["stage"] is None

    resumed = _stream(world, order_id, after=data[1]["seq"])
    assert [event["event"] for event in resumed] == kinds[2:]
    last = {"Last-Event-ID": events[-1]["id"]}
    assert world.http.get(f"/v1/orders/{order_id}/events", headers=last).status_code == 204
    bad = world.http.get(f"/v1/orders/{order_id}/events", headers={"Last-Event-ID": "soon"})
    expect_problem(bad, 422, "invalid_input")
    expect_problem(world.http.get("/v1/orders/ord_none/events"), 404, "not_found")


def test_shutdown_does_not_wait_for_long_polls_and_streams(lone_world: World) -> None:
    order_id = lone_world.text()["id"]
    with ThreadPoolExecutor(2) as pool:
        poll = pool.submit(lone_world.http.get, f"/v1/orders/{order_id}?wait=30", timeout=40)
        stream = pool.submit(_stream, lone_world, order_id)
        time.sleep(0.4)
        started = time.monotonic()
        lone_world.server.handle_exit(15, None)
        assert poll.result().status_code == 200
        assert [event["event"] for event in stream.result()] == ["received", "transcribed"]
        assert time.monotonic() - started < 3
