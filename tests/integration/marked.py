"""Orders with one rare word, on every path that a customer's words take through saycart.

As a program (`python marked.py HOME DATABASE_URL`), runs them with DEBUG logs on stderr, for a test that
searches the logs for the word.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import structlog
from pydantic import BaseModel
from sqlalchemy import MetaData, select

from infra.observability.telemetry import configure_logging
from infra.sql.database import Database
from schemas.cart import CartDraft
from schemas.decision import ModelAnswer
from schemas.errors import AudioDamaged, DecodeInvalid
from schemas.lifecycle import Event, State
from schemas.order import DecodedBy, OrderError
from schemas.priced_cart import Finding
from schemas.records.orders import NewOrder, Outcome
from services.storage.base.tables import OrderRow
from services.storage.orders.store import OrderStore
from tests.endpoints import TILL, till
from tests.integration.api_world import World, running, wav
from tests.stand_ins import CAFE, RIGHT, Pipeline, ScriptedTranscriber, read_as, speech

WORD = "zyzzyva"
SAID = f"a large latte and a {WORD} please"
TELLS: dict[str, Any] = {
    "webhook_endpoints": "private",
}
LATTE = {"kind": "item", "heard": "a large latte", "sku": "latte", "quantity": 1, "size": "L"}
OTHER = {"kind": "not_on_menu", "heard": f"a {WORD}", "quantity": 1}
NOTE = {"kind": "preparation", "heard": f"a {WORD} please"}
DRAFT = CartDraft.model_validate({"lines": [LATTE, OTHER], "notes": [NOTE]})


@dataclass
class Marked:
    """An API and real stages whose engines return the word."""

    world: World
    pipeline: Pipeline

    @classmethod
    def of(cls, world: World) -> Marked:
        till(world.parts.database)
        pipeline = Pipeline(world.parts.database, world.parts.blobs)
        pipeline.orders, pipeline.reviews = world.parts.orders, world.parts.reviews
        pipeline.transcriber = ScriptedTranscriber([speech(SAID)])
        pipeline.decoder.script = [DRAFT]
        return cls(world, pipeline)

    def submit(self, *, spoken: bool = False, **more: Any) -> str:
        """Submit an order with the word in its metadata and Idempotency-Key."""
        headers = {"Idempotency-Key": f"{WORD}-{more.pop('key', 1)}"}
        metadata = {"customer": WORD, "table": 7}
        if spoken:
            found = self.world.http.post(
                "/v1/orders",
                headers=headers,
                files={"audio": ("a", wav() + WORD.encode())},
                data={"menu": CAFE.id, "metadata": f'{{"customer": "{WORD}", "table": 7}}'},
            )
        else:
            body = {"transcript": SAID, "menu": CAFE.id, "metadata": metadata}
            found = self.world.http.post("/v1/orders", headers=headers, json=body)
        assert found.status_code == 202, found.text
        return str(found.json()["id"])

    def claimed(self, order_id: str, person: str) -> dict[str, Any]:
        review = self.pipeline.reviews.by_order(order_id)
        assert review is not None
        claim = self.world.http.post(
            f"/v1/reviews/{review.id}/claim", json={}, headers=self.world.bearing(person)
        )
        assert claim.status_code == 200, claim.text
        return dict(claim.json())

    def decide(self, order_id: str, person: str, **decision: Any) -> None:
        review = self.claimed(order_id, person)
        answer = self.world.http.post(
            f"/v1/reviews/{review['id']}/decision",
            json={"version": review["version"], **decision},
            headers=self.world.bearing(person),
        )
        assert answer.status_code == 200, answer.text

    def corrected(self, key: int = 1) -> str:
        """Create a spoken order, corrected in review."""
        order_id = self.submit(spoken=True, key=key)
        order = self.pipeline.until_settled(order_id)
        assert order.state is State.IN_REVIEW
        cart = {"lines": [LATTE, {**LATTE, "heard": f"a {WORD}", "sku": "mocha", "size": None}]}
        self.decide(order_id, "ada", action="correct", cart=cart, reason=f"a {WORD} is a mocha")
        return order_id

    def rejected(self) -> str:
        """Create an order whose answer is not a cart, rejected by a reviewer with a reason."""
        self.pipeline.decoder.script = [DecodeInvalid("The server's answer is outside the mask", quoted=SAID)]
        order_id = self.submit(key=2)
        assert self.pipeline.until_settled(order_id).state is State.IN_REVIEW
        self.pipeline.decoder.script = [DRAFT]
        self.decide(order_id, "ada", action="reject", reason=f"who wants a {WORD}")
        return order_id

    def cancelled(self) -> str:
        """Create an order that is reviewed, extended by another utterance, reviewed again and cancelled."""
        order_id = self.submit(key=3)
        assert self.pipeline.until_settled(order_id).state is State.IN_REVIEW
        more = {"audio": ("a", wav() + WORD.encode())}
        assert self.world.http.post(f"/v1/orders/{order_id}/utterances", files=more).status_code == 202
        assert self.pipeline.until_settled(order_id).state is State.IN_REVIEW
        assert self.world.http.post(f"/v1/orders/{order_id}/cancel").status_code == 200
        return order_id

    def failed(self) -> str:
        """Create a failed order whose error and history quote the word."""
        order_id = self.submit(key=4)
        order = self.pipeline.orders.get(order_id)
        error = OrderError(code="internal", message=f"what is a {WORD}", hint=WORD, stage="decode")
        found = Outcome(
            Event.BROKE,
            error=error,
            findings=(Finding.blocking("x", WORD, detail=WORD),),
            engine=DecodedBy(decoder="d"),
            answer=ModelAnswer(text=SAID, probability=0.5),
            detail={"question": WORD, "code": "internal"},
        )
        self.pipeline.orders.commit(order, found)
        return order_id

    def read_twice(self) -> str:
        """Create an accepted order, and replay it."""
        order_id = self.submit(key=5)
        reading = replace(read_as(DRAFT), text=f"1 latte large\n1 {WORD}", logprob=-3.0)
        self.pipeline.decoder.script = [reading]
        try:
            assert self.pipeline.until_settled(order_id).state is State.IN_REVIEW
        finally:
            self.pipeline.decoder.script = [RIGHT]
        self.decide(order_id, "ada", action="reject", reason=WORD)
        return order_id

    def all(self) -> list[str]:
        """Create one of each, and a receiver that echoes its messages."""
        made = [
            self.corrected(), self.rejected(), self.cancelled(), self.failed(), self.read_twice()
        ]  # fmt: skip
        outbox = self.world.parts.outbox
        first, second, *_ = outbox.claim(limit=20, lease_s=60, endpoint_id=TILL)
        outbox.delivered(first)
        outbox.failed(second, f"400: what is a {WORD}?", retry_in_s=None)
        return made


def places(database: Database, word: str = WORD) -> set[str]:
    """Return every `table.column` that contains the word."""
    found, tables = set(), MetaData()
    with database.everywhere().read() as session:
        tables.reflect(session.connection())
        assert {"orders", "audit_log", "menus"} <= set(tables.tables)
        for table in tables.tables.values():
            for row in session.execute(select(table)).mappings():
                found |= {f"{table.name}.{name}" for name, value in row.items() if word in str(value).lower()}
    return found


def sounds(folder: Path, word: str = WORD) -> list[Path]:
    """Return the files below a folder that contain the word."""
    return [file for file in folder.rglob("*") if file.is_file() and word.encode() in file.read_bytes()]


def age(database: Database, days: float, *orders: str) -> None:
    """Make these orders, or all, older."""
    with database.everywhere().write() as session:
        for row in session.scalars(select(OrderRow)):
            if not orders or row.id in orders:
                row.created_at -= timedelta(days=days)
                row.updated_at -= timedelta(days=days)


class _Strict(BaseModel):
    number: int


def faults(marked: Marked) -> None:
    """Cause errors whose messages quote the word, wherever they are logged with details."""
    pipeline, world, log = marked.pipeline, marked.world, structlog.get_logger()
    try:
        _Strict.model_validate({"number": SAID})
    except ValueError as quoting:
        pipeline.decoder.script = [quoting]
    pipeline.until_settled(marked.submit(key=6))
    pipeline.decoder.script = [DRAFT]
    pipeline.transcriber.script = [AudioDamaged("cut off")]
    pipeline.until_settled(marked.submit(spoken=True, key=7))
    order_id = marked.submit(key=8)
    with pipeline.database.write() as session:
        session.get_one(OrderRow, order_id).transcript = {"text": [SAID]}
    assert world.http.get(f"/v1/orders/{order_id}").status_code == 200
    with patch.object(OrderStore, "get", side_effect=ValueError(SAID)):
        assert world.http.get(f"/v1/orders/{order_id}").status_code == 500
    try:
        pipeline.orders.create(NewOrder(CAFE.id, 1, None, transcript=speech(SAID)))  # type: ignore[arg-type]
    except Exception:
        log.exception("the.database_refuses")
    else:
        raise AssertionError("an order without a language was stored")
    world.http.post("/orders", data={"transcript": SAID * 100, "menu": "none"})
    world.http.post("/v1/orders", json={"transcript": SAID * 100, "menu": "none"})


def main(home: str, database_url: str) -> None:
    configure_logging("DEBUG", as_json=False)
    with running(Path(home), database_url, **TELLS) as world:
        marked = Marked.of(world)
        made = marked.all()
        page = marked.world.link(made[0])
        assert world.http.get(page, follow_redirects=True).status_code == 200
        faults(marked)
        for order_id in made:
            assert world.http.delete(f"/v1/orders/{order_id}/data").status_code == 200


if __name__ == "__main__":
    main(*sys.argv[1:])
