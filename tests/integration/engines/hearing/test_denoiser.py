"""The denoiser on the samples, clean and in babble, and with the recognizer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from structlog.testing import capture_logs

from infra.settings import REPOSITORY, settings
from infra.weights.models import resolve
from services.transcription.audio.audio import RATE, DecodeLimits, Samples, read
from services.transcription.denoiser import AT_MOST_DB, LONGEST_S, Denoiser
from services.transcription.ports import Recording
from services.transcription.whisper import WhisperTranscriber
from tests.golden.noise import degrade

pytestmark = pytest.mark.models

MODEL = "faster-whisper-base"
SAMPLE = REPOSITORY / "infra" / "samples" / "recordings" / "hc-01.flac"
BABBLE_DB = 5


@pytest.fixture(scope="module")
def denoiser() -> Denoiser:
    return Denoiser(lambda: Path(resolve(settings().denoiser, settings().models_dir)))


@pytest.fixture(scope="module")
def clean() -> Samples:
    return read(SAMPLE, DecodeLimits())


def power(samples: Samples) -> float:
    return float(np.mean(samples**2))


def given(samples: Samples) -> Recording:
    return Recording(SAMPLE, lambda _file: samples)


def ears(**more: object) -> WhisperTranscriber:
    return WhisperTranscriber(resolve(MODEL, settings().models_dir), name=MODEL, **more)  # type: ignore[arg-type]


def test_babble_is_reduced_and_speech_is_not(denoiser: Denoiser, clean: Samples) -> None:
    noisy = degrade(clean, BABBLE_DB, SAMPLE.name, 1)
    alone, among = denoiser(clean), denoiser(noisy)
    assert not alone.was_noisy
    assert among.was_noisy
    assert among.removed_db > 3
    for heard, made in ((clean, alone), (noisy, among)):
        assert made.samples.shape == heard.shape
        assert made.samples.dtype == np.float32
    # A clean recording stays nearly the same.
    assert np.corrcoef(clean, alone.samples)[0, 1] > 0.995
    # Closer to the clean recording, and never reduced by more than the limit.
    scale = float(np.dot(noisy, clean) / np.dot(clean, clean))
    assert power(among.samples - scale * clean) < 0.5 * power(noisy - scale * clean)
    assert power(among.samples) > power(noisy) * 10 ** (-AT_MOST_DB / 10) * 0.9


@pytest.mark.parametrize("length", [0, 1, 159, 160, 161, 16_000])
def test_silence_of_any_length_stays_silence(denoiser: Denoiser, length: int) -> None:
    made = denoiser(np.zeros(length, np.float32))
    assert made.samples.shape == (length,)
    assert not made.samples.any()
    assert not made.was_noisy


def test_noisy_recordings_are_transcribed_again(denoiser: Denoiser, clean: Samples) -> None:
    hears = ears(denoiser=denoiser)
    noisy = degrade(clean, BABBLE_DB, SAMPLE.name, 1)
    assert hears.transcribe_denoised(given(clean), "en-US") is None
    whole, quieter = hears.transcribe(given(noisy), "en"), hears.transcribe_denoised(given(noisy), "en-US")
    assert quieter is not None
    assert quieter.source == f"{whole.source}+denoised"
    assert quieter.recogniser == whole.source
    assert quieter.duration_s == whole.duration_s
    assert "large latte" in quieter.text.casefold()


def test_there_is_no_denoised_pass_without_a_table_or_a_denoiser(
    denoiser: Denoiser, clean: Samples, tmp_path: Path
) -> None:
    noisy = given(degrade(clean, BABBLE_DB, SAMPLE.name, 1))
    assert ears().transcribe_denoised(noisy, "en") is None
    hears = ears(denoiser=denoiser)
    assert hears.transcribe_denoised(noisy, "es") is None
    long = np.tile(noisy.samples, 1 + int(LONGEST_S * RATE / noisy.samples.size))
    assert hears.transcribe_denoised(given(long), "en") is None, "it would take too much memory"
    gone = ears(denoiser=Denoiser(lambda: tmp_path / "none.tar.gz"))
    with capture_logs() as logs:
        assert gone.transcribe_denoised(noisy, "en") is None
    assert [line["event"] for line in logs] == ["transcribe.denoiser_failed"]
