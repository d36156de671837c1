"""Erasure removes a customer's words everywhere and keeps an order's prices."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from typer.testing import CliRunner

from infra.settings import Settings
from schemas.errors import Conflict
from schemas.lifecycle import State
from schemas.records.orders import NewOrder
from schemas.shops.audit import Actor
from schemas.shops.webhook import WebhookMessage
from services.bootstrap import bootstrap
from services.cli import client
from services.cli.main import app
from services.storage.base.mapping import raw_documents
from services.storage.base.tables import OrderRow
from services.storage.privacy.erasure import ErasureStore
from services.storage.privacy.retention import RetentionStore
from services.storage.statistics import decided
from tests.endpoints import TILL
from tests.integration.api_world import expect_problem, wav
from tests.integration.marked import SAID, WORD, Marked, age, places, sounds
from tests.integration.signing import PASSWORD, cheap
from tests.stand_ins import speech

COLUMNS = {
    "orders": (
        *("transcript", "utterances", "draft", "cart", "before", "findings", "answer", "decision"),
        *("error", "metadata"),
    ),
    "order_events": ("detail",),
    "reviews": ("proposed",),
    "review_records": ("before", "after"),
    "outbox": ("payload",),
}
TEXTS = {"reviews.reason", "review_records.reason", "outbox.last_error", "idempotency.key"}
WHERE = TEXTS | {f"{table}.{name}" for table, names in COLUMNS.items() for name in names}


def lines_of(order: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what accounting needs."""
    kept = ("kind", "sku", "quantity", "size", "options", "unit_price", "line_total")
    return [{name: line[name] for name in kept} for line in order["cart"]["lines"]]


def test_erasure_removes_the_word_everywhere(marked: Marked) -> None:
    world, made = marked.world, marked.all()
    database, recordings = world.parts.database, world.parts.settings.blobs
    assert places(database) == WHERE
    assert len(sounds(recordings)) == 1
    before = [world.http.get(f"/v1/orders/{order_id}").json() for order_id in made]
    counted = decided(database, "main", 2)
    for order_id, was in zip(made, before, strict=True):
        answer = world.http.delete(f"/v1/orders/{order_id}/data")
        assert answer.status_code == 200
        assert answer.headers["etag"] != f'W/"{was["version"]}"'
        order = answer.json()
        assert (order["id"], order["status"], order["source"]) == (order_id, was["status"], was["source"])
        assert (order["transcript"], order["metadata"], order["findings"]) == (None, None, [])
        assert order["erased_at"] is not None
        assert order["updated_at"] == was["updated_at"]
        if was["cart"]:
            assert lines_of(order) == lines_of(was)
            assert order["cart"]["total"] == was["cart"]["total"]
            assert [line["name"] for line in order["cart"]["lines"] if line["sku"]]
    assert places(database) == set()
    assert sounds(recordings) == []
    assert world.recordings == []
    assert world.parts.audit.verify().faults == []
    again = decided(database, "main", 2)
    assert (again.actions, again.people) == (counted.actions, counted.people)


def test_erasure_is_audited_once(marked: Marked) -> None:
    world, (order_id, *_) = marked.world, marked.all()
    first = world.http.delete(f"/v1/orders/{order_id}/data").json()
    assert world.http.delete(f"/v1/orders/{order_id}/data").json() == first, "twice is once"
    (entry,) = world.parts.audit.newest(10, action="order.erased")
    assert (entry.object_type, entry.object_id) == ("order", order_id)
    assert entry.actor.startswith("key:")
    assert json.loads(str(entry.after)) == {"recording": True}


def test_an_erased_order_is_still_shown(marked: Marked, monkeypatch: pytest.MonkeyPatch) -> None:
    cheap(monkeypatch)
    world, made = marked.world, marked.all()
    world.parts.staff.add("Zoe", PASSWORD)
    reviews = {order_id: marked.pipeline.reviews.by_order(order_id) for order_id in made}
    for order_id in made:
        world.http.delete(f"/v1/orders/{order_id}/data")
    listed = world.http.get("/v1/orders").json()["orders"]
    assert {order["id"] for order in listed} == set(made)
    assert world.http.post("/sign-in", data={"name": "Zoe", "password": PASSWORD}).status_code == 303
    for order_id in made:
        expect_problem(
            world.http.get(f"/v1/orders/{order_id}/audio"),
            404,
            "recording_removed" if order_id in (made[0], made[2]) else "not_found",
        )
        events = world.http.get(f"/v1/orders/{order_id}/events", headers={"Accept": "text/event-stream"})
        assert events.status_code == 200
        page = world.http.get(world.link(order_id), follow_redirects=True)
        assert page.status_code == 200
        assert "was deleted" in page.text
        assert "“”" not in page.text
        review = reviews[order_id]
        if review is None:
            continue
        assert world.http.get(f"/v1/reviews/{review.id}").json()["order"]["erased_at"]
        shown = world.http.get(f"/review/{review.id}?after={review.id}")
        assert shown.status_code == 200
        assert "The transcript was deleted" in shown.text
    for path in ("/review", "/review/stats", "/metrics", "/v1/reviews"):
        assert world.http.get(path).status_code == 200, path
    with pytest.raises(Conflict, match="no words left"):
        world.parts.orders.replay(made[3])


def test_unsettled_orders_are_not_erased(marked: Marked) -> None:
    world, order_id = marked.world, marked.submit()
    for reached in (State.TRANSCRIBED, State.IN_REVIEW):
        if reached is State.IN_REVIEW:
            marked.pipeline.until_settled(order_id)
        before = world.http.get(f"/v1/orders/{order_id}").json()
        assert marked.pipeline.orders.get(order_id).state is reached
        found = expect_problem(world.http.delete(f"/v1/orders/{order_id}/data"), 409, "conflict")
        assert "Cancel it first" in found["hint"]
        assert world.http.get(f"/v1/orders/{order_id}").json() == before
    world.http.post(f"/v1/orders/{order_id}/cancel")
    assert world.http.delete(f"/v1/orders/{order_id}/data").status_code == 200


def test_a_customer_is_found_by_exact_metadata(marked: Marked) -> None:
    world = marked.world
    parts = world.parts
    values: list[dict[str, Any]] = [
        {"customer": 'a"b\\ü ☃%_'},
        {"customer": 'a"b\\ü ☃%_', "more": {"deep": [1]}},
        {"customer": 'A"b\\ü ☃%_'},
        {"customer": 'a"b\\ü ☃%_ '},
        {"other": 'a"b\\ü ☃%_'},
        {"customer": {"customer": 'a"b\\ü ☃%_'}},
        {"customer": ['a"b\\ü ☃%_']},
        {"customer": 7},
    ]
    made = [world.text(metadata=value)["id"] for value in values]
    world.text()
    # An earlier release may have stored this; PostgreSQL's JSON operators can't read it.
    parts.orders.create(NewOrder("corner-cafe", 1, "en", transcript=speech(SAID), metadata={"x": "a\0b"}))
    found = ErasureStore(parts.database, "main")
    assert found.of_customer("customer", 'a"b\\ü ☃%_') == made[:2]
    assert found.of_customer("customer", "7") == []
    assert ErasureStore(parts.database, "other").of_customer("customer", 'a"b\\ü ☃%_') == []


def test_a_customer_is_exported_and_then_erased(
    marked: Marked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, order_id, waiting = marked.world, marked.corrected(), marked.submit(key=2)
    config: Settings = world.parts.settings
    monkeypatch.setattr(client, "settings", lambda: config)
    monkeypatch.setattr(client, "bootstrap", bootstrap)

    def run(*words: str) -> tuple[int, str]:
        done = CliRunner().invoke(app, list(words))
        return done.exit_code, done.output

    shown = [world.http.get(f"/v1/orders/{one}").json() for one in (order_id, waiting)]
    out = tmp_path / "out"
    code, said = run("export", "--metadata", f"customer={WORD}", "--out", str(out))
    assert (code, "2 orders and 1 recordings" in said) == (0, True), said
    assert [json.loads(line) for line in (out / "orders.jsonl").read_text().splitlines()] == shown
    assert (out / "recordings" / f"{order_id}.wav").read_bytes() == wav() + WORD.encode()
    assert run("erase")[0] == run("erase", order_id, "--metadata", "a=b")[0] == run("erase", "ord_x")[0] == 1
    code, said = run("erase", order_id, waiting)
    assert (code, "1 orders erased" in said, waiting in said) == (1, True, True), said
    world.http.post(f"/v1/orders/{waiting}/cancel")
    code, said = run("erase", "--metadata", f"customer={WORD}", "--shop", "main")
    assert (code, "1 orders erased" in said) == (0, True), said
    assert places(world.parts.database) == set()
    assert sounds(config.blobs) == []
    assert run("audit", "verify")[0] == 0
    assert {
        e.actor.split(" ")[0].partition(":")[0] for e in world.parts.audit.newest(9, action="order.erased")
    } == {"operator"}


def test_a_courier_in_flight_restores_nothing(marked: Marked) -> None:
    world, order_id = marked.world, marked.corrected()
    outbox = world.parts.outbox
    (message, *_) = [
        one for one in outbox.claim(limit=9, lease_s=0.01, endpoint_id=TILL) if one.order_id == order_id
    ]
    world.http.delete(f"/v1/orders/{order_id}/data")
    assert not outbox.failed(message, f"400: {WORD}", retry_in_s=None)
    assert places(world.parts.database) == set()
    (later, *_) = [
        one for one in outbox.claim(limit=9, lease_s=60, endpoint_id=TILL) if one.order_id == order_id
    ]
    assert later.id == message.id
    assert (later.payload["type"], later.payload["data"]["order_id"]) == (message.type, order_id)
    assert later.payload["data"]["metadata"] is None
    WebhookMessage.model_validate(later.payload)
    assert later.payload["data"].keys() == message.payload["data"].keys()


def test_concurrent_erasure(marked: Marked, race: Any) -> None:
    order_id = marked.corrected()
    store = ErasureStore(marked.world.parts.database, "main")
    found = race(4, lambda number: store.erase(order_id, by=Actor(f"operator:{number}")))
    assert len({(one.version, one.erased_at) for one in found}) == 1, found
    assert len(marked.world.parts.audit.newest(10, action="order.erased")) == 1
    assert places(marked.world.parts.database) == set()


def test_not_even_in_the_bytes_of_the_file(marked: Marked) -> None:
    """SQLite leaves deleted bytes in the file unless it is told to overwrite them."""
    database = marked.world.parts.database
    if not database.is_sqlite:
        pytest.skip("PostgreSQL keeps old rows until it vacuums: docs/operations.md")
    file = Path(str(database.url.database))

    def left() -> list[str]:
        both = (file, file.with_name(f"{file.name}-wal"))
        return [one.name for one in both if one.exists() and WORD.encode() in one.read_bytes()]

    made = marked.all()
    assert database.empty_log()
    assert left() == [file.name]
    for order_id in made:
        marked.world.http.delete(f"/v1/orders/{order_id}/data")
    assert database.empty_log()
    assert left() == []
    with database.read() as reading:
        reading.connection().exec_driver_sql("SELECT count(*) FROM orders")
        marked.submit(key=9)
        assert not database.empty_log(), "it does not wait for readers"


def test_a_later_releases_cart_keeps_its_prices(marked: Marked) -> None:
    database, order_id = marked.world.parts.database.everywhere(), marked.corrected()
    cart = marked.world.http.get(f"/v1/orders/{order_id}").json()["cart"]
    cart["lines"][0]["kind"] = "later"
    utterances = [{"kind": "later", "audio_key": WORD}]
    values = {"cart": json.dumps(cart), "utterances": json.dumps(utterances)}
    with database.write() as session:
        session.execute(text("UPDATE orders SET cart = :cart, utterances = :utterances"), values)
    age(database, 100)
    store, found = RetentionStore(database, "main"), list[Any]()
    for step in ("recordings", "transcripts"):
        assert store.step(step, 86_400.0) == 1
        with database.read() as session:
            found.append(raw_documents(session, [order_id], OrderRow.cart, OrderRow.utterances)[order_id])
    recordings, words = found
    assert (recordings.utterances, words.utterances) == ([utterances[0] | {"audio_key": None}], [])
    assert (words.cart["total"], words.cart["lines"][0]["kind"]) == (cart["total"], "later")


def test_unknown_fields_are_erased_too(marked: Marked) -> None:
    """A later release may write fields that are unknown here."""
    database, order_id = marked.world.parts.database.everywhere(), marked.corrected()
    written = COLUMNS | {"orders": (*COLUMNS["orders"], "engine")}  # no words today
    poison = f'{{"lines": ["{WORD}"], "data": "{WORD}", "reader": ["{WORD}"]}}'
    with database.write() as session:
        for table, columns in written.items():
            for column in columns:
                session.execute(text(f"UPDATE {table} SET {column} = :it"), {"it": poison})
    age(database, 100)
    store = RetentionStore(database, "main")
    assert store.step("transcripts", 86_400.0) == 1
    with database.read() as session:
        for table, columns in written.items():
            for column in columns:
                query = text(f"SELECT CAST({column} AS text) FROM {table}")
                found = [value for value in session.scalars(query) if WORD in (value or "")]
                assert found == [], f"{table}.{column}"
    assert marked.world.http.get(f"/v1/orders/{order_id}").json()["erased_at"]
