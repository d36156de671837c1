"""Recordings that are expensive to decode: each is rejected early, and not retried."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from schemas.errors import AudioDamaged, AudioRefused, AudioTooCostly, AudioTooLong
from schemas.lifecycle import State
from schemas.records.orders import NewOrder
from schemas.transcript import Transcript
from services.pipeline.runner import Runner
from services.transcription.audio import audio, audio_child
from services.transcription.audio.audio import RATE, DecodeLimits
from services.transcription.ports import Recording
from tests import hostile_audio
from tests.stand_ins import Pipeline, ScriptedTranscriber

# Limit for a rejection on a busy machine; one try used to take twice as long.
SOON_S = 9.0
COSTLY: dict[str, tuple[Callable[[], bytes], type[AudioRefused]]] = {
    "mono and stereo by turns": (lambda: hostile_audio.alternating_channels(50_000), AudioTooCostly),
    "two rates by turns": (lambda: hostile_audio.alternating_rates(50_000), AudioTooCostly),
    "a promise of days": (
        lambda: hostile_audio.flac([hostile_audio.flac_frame(0)], total=(1 << 36) - 1),
        AudioDamaged,
    ),
    "a minute and a second in tiny frames": (lambda: hostile_audio.tiny_frames(61_000), AudioTooLong),
}


class Ears(ScriptedTranscriber):
    """Only decodes the recording."""

    def transcribe(self, recording: Recording, language: str) -> Transcript:
        heard = super().transcribe(recording, language)
        assert recording.samples.size
        return heard


@pytest.mark.parametrize("name", COSTLY)
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_the_order_ends_once_and_soon(pipeline: Pipeline, name: str) -> None:
    content, error = COSTLY[name]
    data = content()
    limits = DecodeLimits()
    ears = Ears([Transcript(text="", confidence=0.0)])
    new = NewOrder("trap-cafe", 1, "en", audio_key=pipeline.stored(data), audio_format="flac")
    order_id = pipeline.orders.create(new)[0].id
    tools = replace(
        pipeline.runner().tools,
        transcriber=lambda: ears,
        decode_audio=lambda path: audio.read(path, limits),
    )
    runner = Runner(pipeline.orders, pipeline.bell.ring, tools, "worker-1", attempts=4, lease_s=60)
    began = time.monotonic()
    assert runner.run(order_id, "transcribe") is State.FAILED
    assert time.monotonic() - began < SOON_S
    order = pipeline.orders.get(order_id)
    assert order.error is not None
    assert order.error.code == error.code
    assert pipeline.types(order_id) == ["received", "broke"]
    assert (len(ears.heard), pipeline.bell.rung) == (1, [])


def test_small_frames_of_one_form_are_a_recording(tmp_path: Path) -> None:
    """Unusual but valid: two seconds in two thousand frames."""
    file = tmp_path / "order"
    file.write_bytes(hostile_audio.tiny_frames(2_000))
    assert audio.read(file, DecodeLimits()).size == 2 * RATE


def test_a_chain_of_recordings_is_still_one(tmp_path: Path) -> None:
    """Each link may have its own format, within a limit."""
    file = tmp_path / "order"
    frames = (
        hostile_audio.flac_frame(n, channels=1 + n // 100 % 2)
        for n in range(100 * (audio_child.MAX_FORMATS - 1))
    )
    file.write_bytes(hostile_audio.flac(frames))
    assert audio.read(file, DecodeLimits()).size >= RATE


@pytest.mark.parametrize("limits", [DecodeLimits(child_s=20, cpu_s=1), DecodeLimits(child_s=4, cpu_s=60)])
def test_a_recording_over_the_cpu_limit_is_rejected(
    tmp_path: Path, child_that: Callable[[str], None], limits: DecodeLimits
) -> None:
    """The CPU limit is reached first, whatever the settings, so the rejection is final."""
    child_that("while True: pass")
    file = tmp_path / "order"
    file.write_bytes(hostile_audio.tiny_frames(100))
    with pytest.raises(AudioTooCostly, match="more time"):
        audio.read(file, limits)


def test_cpu_seconds_are_well_under_the_wall_seconds() -> None:
    limits = DecodeLimits()
    assert limits.whole_cpu_s <= limits.child_s / 4
    assert [DecodeLimits(child_s=20, cpu_s=cpu).whole_cpu_s for cpu in (0.1, 3.9, 30)] == [1, 3, 10]
