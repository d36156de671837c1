"""The runner with real stores: the result of each outcome and error."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
import structlog

from infra.blobs.folder import BlobFolder
from infra.sql.database import Database
from schemas.compare import canonical_draft
from schemas.decision import SecondTranscript
from schemas.errors import AudioDamaged, DecodeInvalid, DecodeTruncated, EngineMisconfigured, TooMuchToRead
from schemas.lifecycle import State
from schemas.review import ReviewReason
from schemas.transcript import Transcript
from services.pipeline import runner as module
from services.pipeline.runner import BACKOFF_S, Runner
from tests.stand_ins import AGREEMENT, ATTEMPTS, AWAY, RIGHT, SAID, Pipeline, ScriptedTranscriber, speech

LIKEWISE = "I'd have a large latte with oat milk and one blueberry muffin please"
OTHERWISE = "a large latte with soy milk and a blueberry muffin"


@pytest.fixture
def world(database: Database, tmp_path: Path) -> Iterator[Pipeline]:
    # Tracebacks with all locals take seconds; other tests check the logs.
    before = structlog.get_config()
    structlog.configure(processors=[structlog.processors.KeyValueRenderer()])
    yield Pipeline(database, BlobFolder(tmp_path / "blobs"))
    structlog.configure(**before)


def test_a_spoken_order_goes_all_the_way(world: Pipeline) -> None:
    order_id = world.spoken()
    order = world.until_settled(order_id)
    assert order.state is State.COMPLETED
    assert world.types(order_id) == ["received", "transcribed", "decoded", "accepted"]
    assert order.transcript == speech(SAID)
    assert canonical_draft(order.draft) == canonical_draft(RIGHT)
    assert order.draft is not None
    assert [line.heard for line in order.draft.lines] == ["large latte with oat milk", "blueberry muffin"]
    assert order.cart is not None
    assert order.cart.total == 500 + 60 + 350
    assert order.cart.lines[0].heard.start_s == 0.4
    assert set(order.timings) == {"transcribe", "decode", "validate"}
    assert order.engine is not None
    assert (order.engine.decoder, order.engine.grammar) == ("stand-in", "mask-1")
    assert (order.attempt, order.lease_owner, order.reasons, order.error) == (0, None, (), None)
    assert world.reviews.by_order(order_id) is None
    # Inline stages follow at once; only the decode worker needs a ring.
    assert [state for _, state, _ in world.bell.rung] == [State.TRANSCRIBED]
    assert world.transcriber.heard[0][1] == "en"
    assert world.decoder.asked[0].transcript == SAID


@pytest.mark.parametrize(
    ("second", "used", "shown", "confidence", "state"),
    [
        (LIKEWISE, SecondTranscript.AGREED, "", AGREEMENT, State.COMPLETED),
        (OTHERWISE, SecondTranscript.SHOWN, OTHERWISE, 0.7, State.IN_REVIEW),
    ],
)
def test_a_second_recognizer_confirms_an_unsure_first_or_is_shown_to_the_decoder(
    world: Pipeline, second: str, used: SecondTranscript, shown: str, confidence: float, state: State
) -> None:
    world.transcriber.script = [speech(SAID, probability=0.3, confidence=0.7)]
    world.second = ScriptedTranscriber([speech(second)])
    order = world.until_settled(world.spoken())
    assert order.state is state
    assert order.transcript is not None
    assert order.transcript.confidence == confidence
    assert order.decision is not None
    assert order.decision.basis.second_transcript is used
    assert [(asked.transcript, asked.second) for asked in world.decoder.asked] == [(SAID, shown)]


def test_silence_goes_to_review_without_decoding(world: Pipeline) -> None:
    world.transcriber.script = [Transcript(text="", confidence=0.0)]
    order_id = world.spoken()
    order = world.until_settled(order_id)
    assert ReviewReason.NOTHING_HEARD in world.reasons(order_id)
    assert world.types(order_id) == ["received", "doubted"]
    assert world.decoder.asked == []
    assert order.cart is None


def test_a_damaged_recording_ends_in_error_with_a_hint(world: Pipeline) -> None:
    world.transcriber.script = [AudioDamaged("It stops after 3 of 9 s")]
    order_id = world.spoken()
    order = world.until_settled(order_id)
    assert order.state is State.FAILED
    assert order.error is not None
    assert (order.error.code, order.error.message) == ("audio_damaged", "It stops after 3 of 9 s")
    assert order.error.hint == AudioDamaged.hint
    assert order.error.stage == "transcribe"
    assert world.types(order_id) == ["received", "broke"]
    assert len(world.transcriber.heard) == 1, "the recording itself is never worth a retry"


def test_an_outage_is_retried(world: Pipeline) -> None:
    world.decoder.script = [AWAY, AWAY, RIGHT]
    order_id = world.typed()
    runner = world.runner()
    asked_at = datetime.now(UTC)
    assert runner.run(order_id, "decode") is State.TRANSCRIBED
    waiting = world.orders.get(order_id)
    assert (waiting.attempt, waiting.lease_owner) == (1, None)
    assert waiting.next_attempt_at is not None
    assert waiting.next_attempt_at - asked_at < timedelta(seconds=BACKOFF_S + 5)
    assert runner.run(order_id, "decode") is None, "it is not due"
    # The bell rings for the retry when it is due, not earlier.
    rung_id, state, delay_s = world.bell.rung[-1]
    assert (rung_id, state) == (order_id, State.TRANSCRIBED)
    assert 0 <= delay_s <= BACKOFF_S
    assert world.until_settled(order_id).state is State.COMPLETED
    assert world.types(order_id) == [
        "received", "transcribed", "retry", "retry", "decoded", "accepted",
    ]  # fmt: skip
    assert world.orders.events(order_id)[3].detail == {"code": "engine_unavailable"}


def test_delays_grow_with_jitter(world: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    spans: list[tuple[float, float]] = []
    drawn = SimpleNamespace(uniform=lambda low, high: spans.append((low, high)) or 0.0)
    monkeypatch.setattr(module, "random", drawn)  # only in this module
    world.decoder.script = [AWAY]
    runner = Runner(world.orders, world.bell.ring, world.runner().tools, "w", attempts=4, lease_s=60)
    order_id = world.typed()
    for _ in range(3):
        runner.run(order_id, "decode")
        world.make_due(order_id)
    assert spans == [(0, BACKOFF_S * 2**n) for n in range(3)]


def test_without_a_decoder_the_transcript_is_reviewed(world: Pipeline) -> None:
    world.decoder.script = [AWAY]
    order_id = world.typed()
    order = world.until_settled(order_id)
    assert world.reasons(order_id) == {ReviewReason.DECODER_UNAVAILABLE}
    assert order.transcript is not None
    assert order.transcript.text == SAID
    assert (order.draft, order.cart) == (None, None)
    assert [finding.code for finding in order.findings] == ["engine_unavailable"]
    assert len(world.decoder.asked) == ATTEMPTS
    assert world.types(order_id)[2:] == ["retry"] * (ATTEMPTS - 1) + ["doubted"]


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (DecodeTruncated("finish_reason 'length'"), ReviewReason.DECODE_TRUNCATED),
        (DecodeInvalid("outside the mask"), ReviewReason.DECODE_FAILED),
        (EngineMisconfigured("refused (400)"), ReviewReason.DECODE_FAILED),
        (TooMuchToRead("The words take 900 tokens"), ReviewReason.TOO_MUCH_TO_READ),
    ],
)
def test_an_invalid_answer_is_not_retried(world: Pipeline, error: Exception, reason: ReviewReason) -> None:
    world.decoder.script = [error]
    order_id = world.typed()
    order = world.until_settled(order_id)
    assert world.reasons(order_id) == {reason}
    assert (order.draft, order.cart) == (None, None)
    assert order.transcript is not None
    assert order.transcript.text == SAID, "a person has its words"
    assert len(world.decoder.asked) == 1


def test_a_repeated_message_runs_once(world: Pipeline) -> None:
    order_id = world.typed()
    ends = [world.runner(f"w{n}").run(order_id, "decode") for n in range(3)]
    assert ends == [State.COMPLETED, None, None]
    assert len(world.decoder.asked) == 1
    assert world.types(order_id) == ["received", "transcribed", "decoded", "accepted"]


def test_a_result_after_the_lease_is_dropped(world: Pipeline) -> None:
    """Another worker took over and finished: the slow one must not overwrite the result."""
    order_id = world.typed()
    fast = world.runner("fast")

    def overtaken() -> None:
        world.decoder.meanwhile = lambda: None
        world.drop_lease(order_id)
        assert fast.run(order_id, "decode") is State.COMPLETED

    world.decoder.meanwhile = overtaken
    assert world.runner("slow").run(order_id, "decode") is None
    assert world.types(order_id).count("decoded") == 1
