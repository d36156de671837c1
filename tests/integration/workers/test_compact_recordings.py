"""Kept of a recording is its sound: what lies behind it, silence and studio rates go once it is heard."""

from __future__ import annotations

import io
import wave
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from infra.blobs.folder import BlobFolder
from infra.settings import REPOSITORY
from infra.sql.database import Database
from schemas.errors import StorageFull
from schemas.lifecycle import State
from schemas.records.orders import NewOrder
from services.pipeline.runner import Runner
from services.transcription.audio.audio import DecodeLimits, Samples, read
from services.transcription.audio.compact import compact
from services.transcription.audio.containers import sniff_file
from services.transcription.ports import Recording
from tests.stand_ins import Works, speech

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


class Listening(Works):
    """Works whose recognizer is scripted, and whose recordings are decoded for real."""

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

    @property
    def files(self) -> list[Path]:
        return [path for path in self.blobs._root.rglob("*") if path.is_file()]


@pytest.fixture
def works(database: Database, tmp_path: Path) -> Listening:
    return Listening(database, BlobFolder(tmp_path / "blobs"))


@pytest.mark.parametrize(
    ("sound", "most", "words"),
    [(SILENCE, 30_000, ""), (GARBAGE, 150_000, "a latte"), (NOISE, 1_000_000, "")],
    ids=["59 s of silence", "10 MB behind a voice", "30 s of noise"],
)
def test_a_wasteful_recording_is_kept_as_its_sound(
    works: Listening, sound: bytes, most: int, words: str
) -> None:
    works.transcriber.script = [speech(words, confidence=0.9 if words else 0.0)]
    order_id = works.sent(sound)
    before = read(works.kept(order_id), LIMITS)
    works.runner().run(order_id, "transcribe")
    (kept,) = works.files
    assert kept == works.kept(order_id), "the upload is gone"
    assert len(sound) > 5 * most
    assert kept.stat().st_size < most
    assert works.orders.get(order_id).audio_format == "flac"
    after = read(kept, LIMITS)
    assert after.shape == before.shape, "words keep their times"
    assert np.abs(after - before).max() < 1e-4


def test_a_compact_recording_stays_as_it_was_sent(works: Listening) -> None:
    order_id = works.sent(VOICE.read_bytes())
    works.runner().run(order_id, "transcribe")
    assert works.kept(order_id).read_bytes() == VOICE.read_bytes()


def test_a_browser_that_is_to_say_it_again_leaves_no_recording(works: Listening) -> None:
    works.transcriber.script = [speech("", confidence=0.0)]
    order_id = works.sent(SILENCE, "page:/6.6.6.6/one")
    works.runner().run(order_id, "transcribe")
    assert works.orders.get(order_id).state is State.FAILED
    assert works.files == []


def test_who_cancels_meanwhile_leaves_no_copy(works: Listening) -> None:
    order_id = works.sent(GARBAGE)

    def cancelling(recording: Recording, language: str) -> object:
        works.cancel(order_id)
        return speech("a latte")

    works.transcriber.transcribe = cancelling  # type: ignore[assignment, method-assign]
    works.runner().run(order_id, "transcribe")
    assert works.orders.get(order_id).state is State.CANCELLED
    assert works.files == []


def test_a_full_disk_keeps_the_recording_as_it_is(works: Listening, monkeypatch: pytest.MonkeyPatch) -> None:
    order_id = works.sent(GARBAGE)

    def full(_self: BlobFolder) -> None:
        raise StorageFull("no space")

    monkeypatch.setattr(BlobFolder, "open", full)
    assert works.until_settled(order_id).state is State.COMPLETED
    assert works.kept(order_id).stat().st_size == len(GARBAGE)
