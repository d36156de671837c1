"""Poison orders and messages at every stage: each ends and affects nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import pytest

from infra.sql.database import Database
from infra.webhooks import PostResult, Target
from schemas.decision import ModelAnswer
from schemas.errors import StorageUnavailable
from schemas.lifecycle import Event, State
from schemas.records.orders import OrderRecord, Outcome
from schemas.review import ReviewReason
from services.pipeline import stages
from services.pipeline.flow import FLOW
from services.storage.orders.store import OrderStore
from services.storage.outbox.store import Outbox
from services.workers.courier import Courier, RetryPolicy
from tests.endpoints import SECRET, TILL, till
from tests.integration.storage.test_outbox import completed, proposed_and_confirmed
from tests.integration.workers import test_runner
from tests.stand_ins import ATTEMPTS, RIGHT, Pipeline, claim_order

pipeline = test_runner.world

# --- Permanent faults at each stage ---------------------------------------------------------------------


def order_at(pipeline: Pipeline, state: State) -> str:
    """Create an order in `state`."""
    if state is State.RECEIVED:
        return pipeline.spoken()
    order = pipeline.orders.get(pipeline.typed())
    if state is State.DECODED:
        order = pipeline.orders.commit(
            order, Outcome(Event.DECODED, draft=RIGHT, answer=ModelAnswer(probability=1.0))
        )
    return order.id


@pytest.mark.parametrize("state", FLOW)
def test_a_stage_that_always_fails_ends_in_review(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch, state: State
) -> None:
    order_id = order_at(pipeline, state)
    for name in ("transcribe_recording", "retrieve", "decide"):
        monkeypatch.setattr(stages, name, Mock(side_effect=RuntimeError("each time")))
    order = pipeline.until_settled(order_id)
    assert pipeline.reasons(order_id) <= {ReviewReason.STAGE_FAILED, ReviewReason.DECODER_UNAVAILABLE}
    assert "each time" not in str(order.findings), "a fault's words are for the log"
    assert pipeline.types(order_id).count("retry") == ATTEMPTS - 1


def refusing(monkeypatch: pytest.MonkeyPatch, refused: Callable[[Outcome], bool], error: Exception) -> None:
    commit = OrderStore.commit

    def maybe(self: OrderStore, order: OrderRecord, outcome: Outcome, **more: Any) -> OrderRecord:
        if refused(outcome):
            raise error
        return commit(self, order, outcome, **more)

    monkeypatch.setattr(OrderStore, "commit", maybe)


@pytest.mark.parametrize("state", FLOW)
@pytest.mark.parametrize("whatever", [False, True], ids=["its result", "whatever it is"])
def test_a_result_that_can_never_be_stored_ends_in_review_or_an_error(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch, state: State, whatever: bool
) -> None:
    order_id = order_at(pipeline, state)
    refusing(
        monkeypatch, lambda outcome: whatever or outcome.event is not Event.DOUBTED, ValueError("poison")
    )
    order = pipeline.until_settled(order_id)
    assert pipeline.types(order_id).count("retry") == ATTEMPTS - 1
    if whatever:
        assert order.error is not None
        assert (order.error.code, order.error.stage) == ("internal", FLOW[state].name)
    else:
        assert pipeline.reasons(order_id) <= {ReviewReason.STAGE_FAILED, ReviewReason.DECODER_UNAVAILABLE}
    assert (order.attempt, order.lease_owner) == (0, None)


def test_a_result_refused_after_cancellation_is_dropped(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    order_id = pipeline.typed()
    pipeline.decoder.meanwhile = lambda: pipeline.orders.cancel(order_id)
    refusing(monkeypatch, lambda _: True, ValueError("poison"))
    assert pipeline.runner().run(order_id, "decode") is None
    assert pipeline.orders.get(order_id).state is State.CANCELLED


def test_an_unavailable_database_ends_no_order(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    order_id = pipeline.typed()
    away = StorageUnavailable("away")
    refusing(monkeypatch, lambda _: True, away)
    monkeypatch.setattr(OrderStore, "release", Mock(side_effect=away))
    for _ in range(ATTEMPTS + 2):
        pipeline.runner().run(order_id, "decode")
        assert pipeline.orders.get(order_id).state is State.TRANSCRIBED
        pipeline.drop_lease(order_id)


@pytest.mark.parametrize("state", FLOW)
def test_an_order_that_kills_its_workers_ends_in_review(pipeline: Pipeline, state: State) -> None:
    order_id = order_at(pipeline, state)
    for _ in range(ATTEMPTS):
        assert claim_order(pipeline.orders, order_id, state, owner="dead", lease_s=60) is not None
        pipeline.drop_lease(order_id)
    assert pipeline.runner().run(order_id, FLOW[state].name) is State.IN_REVIEW
    decoding = state is State.TRANSCRIBED
    reason = ReviewReason.DECODER_UNAVAILABLE if decoding else ReviewReason.STAGE_FAILED
    assert pipeline.reasons(order_id) == {reason}
    assert (pipeline.transcriber.heard, pipeline.decoder.asked) == ([], []), "the poison was tried again"


# --- Messages to the shop -------------------------------------------------------------------------------


def courier(database: Database, post: Callable[[str, str], PostResult], attempts: int = 3) -> Courier:
    target, patience = Target("https://till.example", SECRET), RetryPolicy(attempts, 0.0, 0.0)
    return Courier(Outbox(database), lambda _, key, body: post(key, body), lambda _: target, patience)


def delivered(database: Database, made: Courier) -> int:
    """Deliver until nothing is due; return the number of attempts."""
    for attempts in range(100):
        due = Outbox(database).claim(limit=9, lease_s=60, endpoint_id=TILL)
        if not due:
            return attempts
        for message in due:
            made.deliver(message)
    raise AssertionError("it never ended")


def test_a_message_that_always_fails_does_not_block_the_next(
    database: Database,
) -> None:
    till(database)
    orders = OrderStore(database, "main")
    order = proposed_and_confirmed(orders)
    first = Outbox(database).list(dead=False, limit=1)[0].id
    sent: list[str] = []

    def post(message_id: str, body: str) -> PostResult:
        if message_id == first:
            raise RuntimeError("each time")
        sent.append(json.loads(body)["type"])
        return PostResult(204, "")

    assert delivered(database, courier(database, post)) == 4
    (dead,) = Outbox(database).list(dead=True, limit=9)
    assert (dead.id, dead.order_id, dead.attempt) == (first, order.id, 3)
    assert "RuntimeError" in str(dead.last_error)
    assert sent == ["order.completed"]


def test_a_message_that_kills_couriers_is_given_up(database: Database) -> None:
    till(database)
    completed(OrderStore(database, "main"))
    for _ in range(3):
        assert Outbox(database).claim(limit=1, lease_s=0.0, endpoint_id=TILL)
    assert delivered(database, courier(database, lambda *_: PostResult(204, ""))) == 1
    assert len(Outbox(database).list(dead=True, limit=9)) == 1
