"""What workers measure: each stage and engine by its outcome, and each kind of trouble by its name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from infra.blobs.folder import BlobFolder
from infra.observability import measures
from infra.sql.database import Database
from schemas.cart import CartDraft
from schemas.errors import AudioDamaged, DecodeTruncated, EngineUnavailable, StaleState
from schemas.lifecycle import State
from schemas.transcript import Transcript
from services.pipeline.heartbeat import Heartbeat
from services.workers import measuring
from services.workers.sweeper import _done
from tests.servers.staged_server import completion, spelled, staged_server
from tests.shown import Shown, shown_by
from tests.stand_ins import AWAY, CAFE, RIGHT, SAID, ScriptedTranscriber, Works, speech

STAGES, SETTLED = "saycart_stage_seconds_count", "saycart_order_settled_seconds"
ENGINES, PROBLEMS = "saycart_engine_seconds_count", "saycart_problems_total"


class Measured:
    """Everything that was measured since this test began."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()

    def __call__(self, name: str, **labels: str) -> float:
        now: Shown = shown_by(self.registry)
        return now(name, **labels)


@pytest.fixture
def measured() -> Iterator[Measured]:
    found = Measured()
    measures.open_in(found.registry, "decode")
    yield found
    measures.close()


@pytest.fixture
def world(database: Database, tmp_path: Path) -> Works:
    return Works(database, BlobFolder(tmp_path / "blobs"))


def test_an_order_that_goes_through(world: Works, measured: Measured) -> None:
    world.transcriber = ScriptedTranscriber([speech(SAID).model_copy(update={"duration_s": 3600.0})])
    assert world.until_settled(world.spoken()).state is State.COMPLETED
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


def test_an_outage_is_retried_and_then_a_human_is_asked(world: Works, measured: Measured) -> None:
    world.decoder.script = [AWAY]
    assert world.until_settled(world.typed()).state is State.IN_REVIEW
    assert measured(STAGES, stage="decode", outcome="retry") == 2
    assert measured(STAGES, stage="decode", outcome="review") == 1
    assert measured(PROBLEMS, kind="outage", code="engine_unavailable") == measured(PROBLEMS) == 3
    assert measured(f"{SETTLED}_count", source="typed", state="in_review") == 1


def test_syntax_meaning_and_hearing_are_counted_apart(world: Works, measured: Measured) -> None:
    world.decoder.script = [DecodeTruncated("finish_reason 'length'")]
    world.until_settled(world.typed())
    assert measured(PROBLEMS, kind="syntax", code="decode_truncated") == measured(PROBLEMS) == 1
    world.decoder.script = [CartDraft(lines=())]
    world.until_settled(world.typed())
    assert measured(PROBLEMS, kind="meaning", code="empty_cart") == 1
    world.decoder.script = [RIGHT]
    world.transcriber.script = [speech(SAID, confidence=0.3), Transcript(text="", confidence=0.0)]
    world.until_settled(world.spoken())
    world.until_settled(world.spoken())
    assert measured(PROBLEMS, kind="transcription", code="low_asr_confidence") == 1
    assert measured(PROBLEMS, kind="transcription", code="nothing_heard") == 1
    assert measured(PROBLEMS, kind="transcription") == 2
    assert measured(PROBLEMS, kind="syntax") == 1
    assert measured(STAGES, stage="transcribe", outcome="review") == 1


def test_bad_input_and_faults_end_by_their_names(world: Works, measured: Measured) -> None:
    world.transcriber.script = [AudioDamaged("There is no audio in it."), ZeroDivisionError("secret words")]
    assert world.until_settled(world.spoken()).state is State.FAILED
    assert measured(STAGES, stage="transcribe", outcome="error") == 1
    assert measured(PROBLEMS, kind="input", code="audio_damaged") == 1
    assert world.until_settled(world.spoken()).state is State.IN_REVIEW
    assert measured(PROBLEMS, kind="fault", code="internal") == 3
    assert measured(STAGES, stage="transcribe", outcome="retry") == 2


def test_a_result_that_comes_too_late_is_dropped(world: Works, measured: Measured) -> None:
    order_id = world.to_decode()
    world.decoder.meanwhile = lambda: world.orders.cancel(order_id)
    assert world.runner().run(order_id, "decode") is None
    assert measured(STAGES, stage="decode", outcome="dropped") == 1
    assert measured(f"{SETTLED}_count") == 0, "it was the client who settled it"
    assert measured(PROBLEMS) == 0


def test_leases_in_trouble(world: Works, measured: Measured) -> None:
    order = world.orders.claim(world.to_decode(), State.TRANSCRIBED, owner="a", lease_s=9)
    assert order is not None

    class Gone:
        def renew(self, *_: Any) -> bool:
            return False

        holds = renew

    with Heartbeat(Gone(), order, lease_s=0.03, limit_s=60) as beat:
        assert beat.lost.wait(20)
    with Heartbeat(Gone(), order, lease_s=0.03, limit_s=0) as beat:
        beat._thread.join(20)
    beat._thread.join(20)
    assert measured("saycart_lease_troubles_total", stage="decode", trouble="lost") == 1
    assert measured("saycart_lease_troubles_total", stage="decode", trouble="timed_out") == 1


def test_a_decode_by_a_server(world: Works, measured: Measured) -> None:
    order_id = world.to_decode()
    answers = [(503, b""), completion(spelled(RIGHT, CAFE))]
    with staged_server(lambda body: answers[0] if len(answers) == 2 else answers[-1]) as server:
        server.adapters = (200, b'[{"id": 0}]')
        decoder = server.decoder("llama.cpp", adapter="orders")
        runner = world.runner()
        runner = replace(runner, tools=replace(runner.tools, decoder=lambda: decoder))
        assert runner.run(order_id, "decode") is State.TRANSCRIBED
        assert measured(ENGINES, engine="decoder", outcome="engine_unavailable") == 1
        answers.pop(0)
        world.make_due(order_id)
        assert runner.run(order_id, "decode") is State.COMPLETED
    assert measured(ENGINES, engine="decoder", outcome="done") == 1
    assert measured(ENGINES, engine="decode_request", outcome="done") == 1
    assert measured(ENGINES, engine="decode_request", outcome="engine_unavailable") == 1
    assert measured("saycart_tokens_total", engine="decoder", kind="completion") == 22
    assert measured("saycart_tokens_total", engine="decoder", kind="prompt") == 11
    assert measured("saycart_overruled_tokens_total") == 0


def test_connections_and_rounds(database: Database, measured: Measured) -> None:
    measuring.watch(database, slots=4)
    with database.read() as session:
        database.now(session)
        with database.read() as other:
            database.now(other)
            assert measured("saycart_database_connections_busy", part="decode") == database.lent == 2
    assert measured("saycart_database_connections_busy", part="decode") == database.lent == 0
    assert measured("saycart_database_connections_limit", part="decode") == database.lends_at_most == 20
    assert measured("saycart_worker_slots", part="decode") == 4

    def away() -> int:
        raise StaleState("none of its errors")

    assert _done("keep", lambda: 7) == 7
    assert _done("keep", away) is None
    assert measured("saycart_sweeper_seconds_count", step="keep", outcome="done") == 1
    assert measured("saycart_sweeper_seconds_count", step="keep", outcome="fault") == 1


def test_no_label_is_taken_from_an_order(world: Works, measured: Measured) -> None:
    """However odd an order is, what is exported has no word and no id of it."""
    odd = "a zyzzyva latte and 17 quuxes"
    world.decoder.script = [EngineUnavailable(odd), ValueError(odd), RIGHT]
    order_id = world.typed(odd)
    world.until_settled(order_id)
    text = generate_latest(measured.registry).decode()
    assert "saycart_stage_seconds" in text
    for word in (order_id, "zyzzyva", "quux", '"main"', "ValueError", "worker-1"):
        assert word not in text


def test_without_anybody_to_see_it_nothing_is_measured(world: Works) -> None:
    assert world.until_settled(world.typed()).state is State.COMPLETED
    registry = CollectorRegistry()
    measures.open_in(registry, "decode")
    measures.close()
    assert world.until_settled(world.typed()).state is State.COMPLETED
    assert shown_by(registry)(STAGES) == 0
