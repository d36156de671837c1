"""The recognizer on silence, noise and the samples."""

from __future__ import annotations

import json
import wave
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
from faster_whisper import WhisperModel
from faster_whisper.audio import decode_audio

from infra.settings import REPOSITORY, Settings, settings
from infra.weights.models import resolve
from schemas.errors import EngineMisconfigured
from services.bootstrap import bootstrap
from services.retrieval.names import MenuNames
from services.transcription.audio.audio import DecodeLimits, read
from services.transcription.confidence import agreement
from services.transcription.encoded import FittedEncoder, fitting
from services.transcription.ports import Recording
from services.transcription.second import SURE, with_second
from services.transcription.transcribe import transcribe_recording
from services.transcription.whisper import WhisperTranscriber
from tests.stand_ins import sample_menu

pytestmark = pytest.mark.models

MODEL, SECOND = "faster-whisper-base", "faster-whisper-tiny.en"
RECORDINGS = REPOSITORY / "infra" / "samples" / "recordings"
RATE = 16_000
FLOOR, WHOLE = 0.72, 1.1  # the latter is a floor that no fitted pass reaches
NAMES = MenuNames(sample_menu("harbor-coffee"))
TIME = np.arange(4 * RATE) / RATE


@pytest.fixture(scope="module")
def ears() -> WhisperTranscriber:
    return WhisperTranscriber(resolve(MODEL, settings().models_dir), name=MODEL)


@pytest.fixture(scope="module")
def second() -> WhisperTranscriber:
    return WhisperTranscriber(resolve(SECOND, settings().models_dir), name=SECOND)


def stored(file: Path) -> Recording:
    return Recording(file, lambda path: read(path, DecodeLimits()))


def save(path: Path, samples: np.ndarray) -> Path:
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, RATE, 0, "NONE", ""))
        file.writeframes((np.clip(samples, -1, 1) * 32_767).astype("<i2").tobytes())
    return path


def noise(level: float) -> np.ndarray:
    return level * np.random.default_rng(3).standard_normal(TIME.size)


def hum(hertz: int) -> np.ndarray:
    return sum(0.3 / k * np.sin(2 * np.pi * hertz * k * TIME) for k in (1, 2, 3, 5))


NOTHING = {
    "silence": np.zeros(TIME.size),
    "a click's length": np.zeros(160),
    "hiss": noise(0.005),
    "white noise": noise(0.3),
    "mains hum": hum(50),
    # The voice detector takes this one for speech, and the model answers "I'm sorry, I'm sorry, ...".
    "transformer hum": hum(120),
    "rumble": np.cumsum(noise(0.001)),
    "a tune": 0.3 * np.sin(2 * np.pi * np.repeat([262, 330, 392, 523, 392, 330, 262, 196], RATE // 2) * TIME),
}


@pytest.mark.parametrize("name", NOTHING)
def test_no_order_is_invented(ears: WhisperTranscriber, tmp_path: Path, name: str) -> None:
    recording = stored(save(tmp_path / "order.wav", NOTHING[name]))
    heard = transcribe_recording(recording, "en", NAMES, ears, floor=FLOOR)
    assert heard.nothing_was_said, heard.text
    assert heard.confidence == 0
    assert heard.words == ()
    assert heard.duration_s == pytest.approx(NOTHING[name].size / RATE)


def test_words_of_a_fading_voice_are_not_silence(ears: WhisperTranscriber, tmp_path: Path) -> None:
    """The muffin is said at a sixteenth of the volume; if it were cut, the order would lack it."""
    voice = decode_audio(str(RECORDINGS / "hc-02.flac"), RATE).copy()
    loud = stored(save(tmp_path / "loud.wav", voice))
    voice[int(4.3 * RATE) :] *= 10 ** (-24 / 20)
    dropped = stored(save(tmp_path / "dropped.wav", voice))
    heard = [transcribe_recording(one, "en", NAMES, ears, floor=FLOOR) for one in (loud, dropped)]
    assert ["muffin" in one.text for one in heard] == [True, False]
    assert heard[0].quiet is None
    assert "muffin" in (heard[1].quiet or "")


def samples() -> list[dict[str, str]]:
    rows = map(json.loads, (RECORDINGS / "gold.jsonl").read_text().splitlines())
    return [row for row in rows if row.get("expect") == "accept" and row.get("audio")][:2]


@pytest.mark.parametrize(("snr", "agreed"), [(5, True), (0, False)])
def test_a_second_recognizer_agrees_on_the_same_words(
    ears: WhisperTranscriber, second: WhisperTranscriber, tmp_path: Path, snr: int, agreed: bool
) -> None:
    """Two cappuccinos and a muffin in hiss: the first recognizer is right but unsure."""
    clean = decode_audio(str(RECORDINGS / "hc-02.flac"), RATE)
    hiss = np.random.default_rng(3).standard_normal(clean.size)
    mixed = clean + hiss * np.sqrt(np.mean(clean**2) / np.mean(hiss**2) / 10 ** (snr / 10))
    recording = stored(save(tmp_path / "order.wav", mixed / np.abs(mixed).max()))
    heard = transcribe_recording(recording, "en", NAMES, ears, floor=WHOLE)
    assert heard.confidence < SURE
    transcript = with_second(recording, heard, NAMES, lambda: second, agreement)
    assert transcript.second
    assert (transcript.text, transcript.agreed) == (heard.text, agreed)
    share = agreement(ears.key("en"), second.key("en"), 0.5)
    assert share is not None
    assert transcript.confidence == (max(heard.confidence, share) if agreed else heard.confidence)


@pytest.mark.parametrize(
    ("frames", "left"),
    [(1, 300), (100, 300), (101, 400), (799, 1000), (2800, 3000), (2801, 3000), (3000, 3000)],
)
def test_a_fitted_window_keeps_the_speech_and_two_seconds(frames: int, left: int) -> None:
    window = np.zeros((80, 3000), np.float32)
    window[:, :frames] = 1
    kept = fitting(window)
    assert kept.shape == (80, left)
    assert kept.sum() == window.sum()
    assert kept.flags.c_contiguous, "CTranslate2 reads the memory directly"


def test_fitted_windows_are_set_per_thread() -> None:
    """Several orders may share one model."""
    encoded: list[int] = []
    encoder = FittedEncoder(lambda features: encoded.append(features.shape[1]))
    with encoder.fitted(True), ThreadPoolExecutor(1) as other:
        other.submit(encoder, np.zeros((80, 3000), np.float32)).result()
        encoder(np.zeros((80, 3000), np.float32))
    assert encoded == [3000, 200]


def test_a_fitted_pass_transcribes_the_samples(ears: WhisperTranscriber) -> None:
    for row in samples():
        recording = stored(RECORDINGS / row["audio"])
        fitted, whole = ears.transcribe_fitted(recording, "en-US"), ears.transcribe(recording, "en-US")
        assert fitted is not None
        assert fitted.source == f"{whole.source}+fitted"
        assert fitted.recogniser == whole.source, "its measured agreement applies"
        assert fitted.duration_s == whole.duration_s
        one, other = (
            {word.text.strip(",.?!").casefold() for word in heard.words} for heard in (fitted, whole)
        )
        assert len(one & other) >= 0.8 * len(other), fitted.text
        assert abs(fitted.words[-1].end_s - whole.words[-1].end_s) < 1


def test_there_is_no_fitted_pass_without_a_table(ears: WhisperTranscriber) -> None:
    sample = stored(RECORDINGS / samples()[0]["audio"])
    assert ears.transcribe_fitted(sample, "es") is None
    unknown = WhisperTranscriber(resolve(MODEL, settings().models_dir), name="another")
    assert unknown.transcribe_fitted(sample, "en") is None


def test_a_worker_loads_both_recognizers_before_its_first_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = Mock(wraps=WhisperModel.__init__)
    monkeypatch.setattr(WhisperModel, "__init__", lambda *given, **more: loaded(*given, **more))
    parts = bootstrap(Settings(home=tmp_path))
    parts.load_recognizers()
    assert loaded.call_count == 2
    for ears in (parts.transcriber, parts.second_transcriber):
        assert ears is not None
        assert ears.transcribe(stored(RECORDINGS / "hc-01.flac"), "en").text
    assert loaded.call_count == 2, "before any order"


def test_an_unsupported_language_is_a_configuration_error(ears: WhisperTranscriber, tmp_path: Path) -> None:
    with pytest.raises(EngineMisconfigured, match="doesn't support"):
        ears.transcribe(stored(save(tmp_path / "order.wav", noise(0.1))), "xx")


def test_invalid_weights_are_a_configuration_error(tmp_path: Path) -> None:
    with pytest.raises(EngineMisconfigured, match="can't be loaded"):
        WhisperTranscriber(str(tmp_path), name="empty").load()
