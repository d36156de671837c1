"""Spoken orders that were hard to hear: confirmed by a second recognizer, asked about, or a person's."""

from __future__ import annotations

from pathlib import Path

import pytest

from infra.blobs.folder import BlobFolder
from infra.sql.database import Database
from schemas.decision import SecondTranscript
from schemas.lifecycle import State
from schemas.open_questions import open_question
from schemas.records.orders import OrderRecord
from schemas.review import ReviewReason
from schemas.transcript import Transcript
from tests.stand_ins import (
    AGREEMENT,
    SAID,
    ScriptedTranscriber,
    Works,
    speech,
)

BASE = "faster-whisper-base/int8/beam5-t0-vad/en"
LIKEWISE = "I'd have a large latte with oat milk and one blueberry muffin please"
OTHERWISE = "a large latte with soy milk and a blueberry muffin"


def unsure(confidence: float = 0.85) -> Transcript:
    return speech(SAID, 0.3, confidence).model_copy(update={"source": BASE})


@pytest.fixture
def world(database: Database, tmp_path: Path) -> Works:
    made = Works(database, BlobFolder(tmp_path / "blobs"))
    made.transcriber = ScriptedTranscriber([unsure()])
    return made


def settled(world: Works, second: str) -> OrderRecord:
    """An order that a second recognizer heard like this."""
    world.second = ScriptedTranscriber([speech(second)])
    return world.until_settled(world.spoken())


def shown_to_decoder(world: Works) -> list[tuple[str, str]]:
    return [(asked.transcript, asked.second) for asked in world.decoder.asked]


def second_of(order: OrderRecord) -> SecondTranscript | None:
    return order.decision.basis.second_transcript if order.decision is not None else None


def test_two_recognizers_that_name_the_same_things_confirm_it(world: Works) -> None:
    world.transcriber = ScriptedTranscriber([unsure(confidence=0.7)])
    order = settled(world, LIKEWISE)
    assert order.state is State.COMPLETED
    assert second_of(order) is SecondTranscript.AGREED
    assert shown_to_decoder(world) == [(SAID, "")]
    assert order.transcript is not None
    assert (order.transcript.agreed, order.transcript.confidence) == (True, AGREEMENT)


def test_where_they_differ_the_decoder_is_shown_both(world: Works) -> None:
    order = settled(world, OTHERWISE)
    assert second_of(order) is SecondTranscript.SHOWN
    assert shown_to_decoder(world) == [(SAID, OTHERWISE)]


def test_a_recording_heard_badly_as_a_whole_is_a_persons(world: Works) -> None:
    world.transcriber = ScriptedTranscriber([unsure(confidence=0.7)])
    order = settled(world, OTHERWISE)
    assert order.state is State.IN_REVIEW
    assert ReviewReason.LOW_ASR_CONFIDENCE in order.reasons
    assert open_question(order.findings, order.reasons) is None
