"""Stored recordings are compacted after transcription: no trailing data, silence or high sample rates."""

from __future__ import annotations

import io
import shutil
import wave
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from infra.blobs.folder import BlobFolder
from infra.settings import REPOSITORY
from infra.sql.database import Database
from schemas.errors import DecodeCancelled, EngineUnavailable, StorageFull
from schemas.lifecycle import State
from schemas.records.orders import NewOrder, StoredUtterance
from services.pipeline.runner import Runner
from services.transcription.audio.audio import DecodeLimits, Samples, read
from services.transcription.audio.compact import compact
from services.transcription.audio.containers import sniff_file
from services.transcription.ports import Recording
from tests.integration.storage.files.test_storage_blobs import files
from tests.stand_ins import Pipeline, speech

LIMITS = DecodeLimits()
VOICE = REPOSITORY / "infra" / "samples" / "recordings" / "hc-02.flac"


def wav(samples: Samples, rate: int = 16_000, channels: int = 1) -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(channels)
        out.setsampwidth(2)
        out.setframerate(rate)
        out.writeframes(np.repeat((samples * 32767).astype("<i2"), channels).tobytes())
    return file.getvalue()


SILENCE = wav(np.zeros(59 * 48_000, np.float32), 48_000, 2)
GARBAGE = VOICE.read_bytes() + bytes(range(256)) * 40_000
NOISE = wav(np.random.default_rng(7).uniform(-0.5, 0.5, 30 * 48_000).astype(np.float32), 48_000, 2)


class Listening(Pipeline):
    """A pipeline with a scripted recognizer that really decodes recordings."""

    def runner(self, owner: str = "worker-1") -> Runner:
        made = super().runner(owner)
        tools = replace(
            made.tools,
            decode_audio=partial(read, limits=LIMITS),
            compact=partial(compact, self.blobs),
            drop_recording=self.blobs.delete,
            times_asked_again=self.orders.times_asked_again,
        )
        return replace(made, tools=tools)

    def sent(self, sound: bytes, client: str = "till") -> str:
        key = self.stored(sound)
        form = sniff_file(self.blobs.path(key)).value
        new = NewOrder("trap-cafe", 1, "en", audio_key=key, audio_format=form, client=client)
        return self.orders.create(new)[0].id

    def kept(self, order_id: str) -> Path:
        key = self.orders.get(order_id).audio_key
        assert key is not None
        return self.blobs.path(key)


@pytest.fixture
def pipeline(database: Database, tmp_path: Path) -> Listening:
    return Listening(database, BlobFolder(tmp_path / "blobs"))


@pytest.mark.parametrize(
    ("sound", "most", "words"),
    [(SILENCE, 30_000, ""), (GARBAGE, 150_000, "a latte"), (NOISE, 1_000_000, "")],
    ids=["59 s of silence", "10 MB behind a voice", "30 s of noise"],
)
def test_a_wasteful_recording_is_compacted(pipeline: Listening, sound: bytes, most: int, words: str) -> None:
    pipeline.transcriber.script = [speech(words, confidence=0.9 if words else 0.0)]
    order_id = pipeline.sent(sound)
    before = read(pipeline.kept(order_id), LIMITS)
    pipeline.runner().run(order_id, "transcribe")
    (kept,) = files(pipeline.blobs)
    assert kept == pipeline.kept(order_id), "the upload is gone"
    assert len(sound) > 5 * most
    assert kept.stat().st_size < most
    assert pipeline.orders.get(order_id).audio_format == "flac"
    after = read(kept, LIMITS)
    assert after.shape == before.shape, "words keep their times"
    assert np.abs(after - before).max() < 1e-4


def test_a_compact_recording_is_unchanged(pipeline: Listening) -> None:
    order_id = pipeline.sent(VOICE.read_bytes())
    pipeline.runner().run(order_id, "transcribe")
    assert pipeline.kept(order_id).read_bytes() == VOICE.read_bytes()


def test_silence_from_a_browser_leaves_no_recording(pipeline: Listening) -> None:
    pipeline.transcriber.script = [speech("", confidence=0.0)]
    order_id = pipeline.sent(SILENCE, "page:/6.6.6.6/one")
    pipeline.runner().run(order_id, "transcribe")
    assert pipeline.orders.get(order_id).state is State.FAILED
    assert files(pipeline.blobs) == []


def test_cancelling_during_compaction_leaves_no_copy(pipeline: Listening, tmp_path: Path) -> None:
    order_id = pipeline.sent(GARBAGE)
    upload = shutil.copy(pipeline.kept(order_id), tmp_path)  # as from a bucket, where it outlives the order

    def cancelling(recording: Recording, language: str) -> object:
        pipeline.cancel(order_id)
        return speech("a latte")

    pipeline.transcriber.transcribe = cancelling  # type: ignore[assignment, method-assign]
    runner = pipeline.runner()
    tools = replace(runner.tools, recording=lambda _: nullcontext(Path(upload)))
    replace(runner, tools=tools).run(order_id, "transcribe")
    assert pipeline.orders.get(order_id).state is State.CANCELLED
    assert files(pipeline.blobs) == []


@pytest.mark.parametrize("error", [DecodeCancelled("called off"), EngineUnavailable("away")])
def test_a_failed_transcription_leaves_no_copy(pipeline: Listening, error: Exception) -> None:
    order_id = pipeline.sent(GARBAGE)
    more = StoredUtterance(
        kind="audio", at=datetime.now(UTC), audio_key=pipeline.stored(NOISE), audio_format="wav"
    )
    pipeline.orders.add(order_id, more)
    pipeline.transcriber.script = [speech("a latte"), error]
    pipeline.runner().run(order_id, "transcribe")
    assert len(pipeline.transcriber.script) == 1, "the first was transcribed"
    assert {path.name for path in files(pipeline.blobs)} == {
        pipeline.blobs.path(key).name for key in pipeline.orders.get(order_id).recordings
    }


def test_a_full_disk_keeps_the_recording_as_it_is(
    pipeline: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    order_id = pipeline.sent(GARBAGE)
    monkeypatch.setattr(BlobFolder, "open", Mock(side_effect=StorageFull("no space")))
    assert pipeline.until_settled(order_id).state is State.COMPLETED
    assert pipeline.kept(order_id).stat().st_size == len(GARBAGE)
