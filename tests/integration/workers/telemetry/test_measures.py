"""Metrics of workers: stages and engines by outcome, and problems by kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import pytest
from prometheus_client import generate_latest

from infra.observability import measures
from infra.sql.database import Database
from schemas.cart import CartDraft
from schemas.errors import AudioDamaged, DecodeTruncated, EngineUnavailable, StaleState
from schemas.lifecycle import State
from schemas.transcript import Transcript
from services.pipeline.heartbeat import Heartbeat
from services.workers.sweeper import _run
from tests.servers.staged_server import Answer, model, spelled, staged_server
from tests.shown import shown_by
from tests.stand_ins import AWAY, CAFE, RIGHT, SAID, Pipeline, ScriptedTranscriber, claim_order, speech

STAGES, SETTLED = "saycart_stage_seconds_count", "saycart_order_settled_seconds"
ENGINES, PROBLEMS = "saycart_engine_seconds_count", "saycart_problems_total"


def measured(name: str, **labels: str) -> float:
    """Return a metric's change since this test began."""
    return shown_by(measures.REGISTRY)(name, **labels)


@pytest.fixture(autouse=True)
def begun() -> Iterator[None]:
    for metric in set(measures.REGISTRY._collector_to_names):
        metric.clear()  # type: ignore[attr-defined]
    measures.set_part("decode")
    yield
    measures.set_part("")


def test_an_order_that_goes_through(pipeline: Pipeline) -> None:
    pipeline.transcriber = ScriptedTranscriber([speech(SAID).model_copy(update={"duration_s": 3600.0})])
    assert pipeline.until_settled(pipeline.spoken()).state is State.COMPLETED
    for stage in ("transcribe", "decode", "validate"):
        assert measured(STAGES, stage=stage, outcome="done") == 1, stage
    assert measured(STAGES) == 3
    # Two are claimed from a queue; the last is at hand.
    assert measured("saycart_queue_wait_seconds_count", stage="transcribe") == 1
    assert measured("saycart_queue_wait_seconds_count", stage="decode") == 1
    assert measured("saycart_queue_wait_seconds_count") == 2
    assert measured(f"{SETTLED}_count", source="spoken", state="completed") == 1
    assert measured(f"{SETTLED}_sum") == 0, "less the hour that it took to say"
    assert measured(PROBLEMS) == 0
    assert measured("saycart_worker_slots_busy", part="decode") == 0


@pytest.mark.parametrize(
    ("stage", "script", "outcome", "trouble", "times"),
    [
        ("decode", [AWAY], "review", "outage/engine_unavailable", 3),
        ("decode", [DecodeTruncated("finish_reason 'length'")], "review", "syntax/decode_truncated", 1),
        ("validate", [CartDraft(lines=())], "review", "meaning/empty_cart", 1),
        ("validate", [speech(SAID, confidence=0.3)], "review", "transcription/low_asr_confidence", 1),
        ("transcribe", [Transcript(text="", confidence=0.0)], "review", "transcription/nothing_heard", 1),
        ("transcribe", [AudioDamaged("There is no audio in it.")], "error", "input/audio_damaged", 1),
        ("transcribe", [ZeroDivisionError("secret words")], "review", "fault/internal", 3),
    ],
)
def test_each_problem_is_counted_by_kind(
    pipeline: Pipeline, stage: str, script: list[Any], outcome: str, trouble: str, times: int
) -> None:
    kind, code = trouble.split("/")
    decoded = kind in ("outage", "syntax", "meaning")
    (pipeline.decoder if decoded else pipeline.transcriber).script = script
    pipeline.until_settled(pipeline.spoken())
    assert measured(PROBLEMS, kind=kind, code=code) == times
    assert measured(STAGES, stage=stage, outcome=outcome) == 1
    assert measured(STAGES, outcome="retry") == times - 1


def test_leases_in_trouble(pipeline: Pipeline) -> None:
    order = claim_order(pipeline.orders, pipeline.typed(), State.TRANSCRIBED, owner="a", lease_s=9)
    assert order is not None
    gone = Mock(**{"renew.return_value": False, "holds.return_value": False})
    with Heartbeat(gone, order, lease_s=0.03, limit_s=60) as beat:
        assert beat.lost.wait(20)
    with Heartbeat(gone, order, lease_s=0.03, limit_s=0) as beat:
        beat._thread.join(20)
    beat._thread.join(20)
    assert measured("saycart_lease_troubles_total", stage="decode", trouble="lost") == 1
    assert measured("saycart_lease_troubles_total", stage="decode", trouble="timed_out") == 1


def test_a_decode_by_a_server(pipeline: Pipeline) -> None:
    order_id = pipeline.typed()
    answers: list[Callable[[dict[str, Any]], Answer]] = [lambda _: (503, b""), model(spelled(RIGHT, CAFE))]
    with staged_server(lambda body: answers[0](body)) as server:
        server.adapters = (200, b'[{"id": 0}]')
        decoder = server.decoder("llama.cpp", adapter="orders")
        runner = pipeline.runner()
        runner = replace(runner, tools=replace(runner.tools, decoder=lambda: decoder))
        assert runner.run(order_id, "decode") is State.TRANSCRIBED
        assert measured(ENGINES, engine="decoder", outcome="engine_unavailable") == 1
        answers.pop(0)
        pipeline.make_due(order_id)
        assert runner.run(order_id, "decode") is State.COMPLETED
    assert measured(ENGINES, engine="decoder", outcome="done") == 1
    assert (
        measured(ENGINES, engine="decode_request", outcome="done") == 2
    )  # the probe of a server that was away, and the order
    assert measured(ENGINES, engine="decode_request", outcome="engine_unavailable") == 1
    assert measured("saycart_tokens_total", engine="decoder", kind="completion") == 22
    assert measured("saycart_tokens_total", engine="decoder", kind="prompt") == 11
    assert measured("saycart_overruled_tokens_total") == 0


def test_connections_and_rounds(database: Database) -> None:
    measures.watch(database, slots=4)
    with database.read() as session:
        database.now(session)
        with database.read() as other:
            database.now(other)
            assert (
                measured("saycart_database_connections_busy", part="decode") == database.connections_busy == 2
            )
    assert measured("saycart_database_connections_busy", part="decode") == database.connections_busy == 0
    assert measured("saycart_database_connections_limit", part="decode") == database.connections_limit == 20
    assert measured("saycart_worker_slots", part="decode") == 4

    def away() -> int:
        raise StaleState("none of its errors")

    assert _run("keep", lambda: 7) == 7
    assert _run("keep", away) is None
    assert measured("saycart_sweeper_seconds_count", step="keep", outcome="done") == 1
    assert measured("saycart_sweeper_seconds_count", step="keep", outcome="fault") == 1


def test_no_label_comes_from_an_order(pipeline: Pipeline) -> None:
    """Metrics never contain an order's words or id."""
    odd = "a zyzzyva latte and 17 quuxes"
    pipeline.decoder.script = [EngineUnavailable(odd), ValueError(odd), RIGHT]
    order_id = pipeline.typed(odd)
    pipeline.until_settled(order_id)
    text = generate_latest(measures.REGISTRY).decode()
    assert "saycart_stage_seconds" in text
    for word in (order_id, "zyzzyva", "quux", '"main"', "ValueError", "worker-1"):
        assert word not in text
