"""Both recognizers with their adapters, on the samples and on noise."""

from __future__ import annotations

import json

import numpy as np
import pytest

from infra.settings import REPOSITORY, Settings, settings
from infra.weights.adapters import release
from services.bootstrap import Container, bootstrap
from services.learning.evaluation.word_errors import word_errors
from services.transcription.adapted import adapter_of
from services.transcription.confidence import agreement, is_measured
from services.transcription.encoded import FITTED
from services.transcription.ports import Recording, Transcriber
from tests.integration.engines.hearing.test_whisper import NOTHING, stored

pytestmark = pytest.mark.models

RECORDINGS = REPOSITORY / "infra" / "samples" / "recordings"
SPANISH = REPOSITORY / "infra" / "samples" / "spanish" / "recordings"
GOLD = [json.loads(line) for line in (RECORDINGS / "gold.jsonl").read_text().splitlines()]
MOST_WRONG = 0.05  # of the samples' words; seen: 2 of 244 by base, none by tiny.en


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Container:
    home = tmp_path_factory.mktemp("home")
    return bootstrap(Settings(home=home, models_dir=settings().models_dir))


@pytest.fixture(params=["first", "second"])
def ears(request: pytest.FixtureRequest, parts: Container) -> Transcriber:
    found = parts.transcriber if request.param == "first" else parts.second_transcriber
    assert found is not None
    return found


def test_the_samples_are_transcribed(ears: Transcriber) -> None:
    wrong = said = 0
    for row in GOLD:
        if row["utterance"]:
            heard = ears.transcribe(stored(RECORDINGS / f"{row['id']}.flac"), "en-US")
            assert heard.source.partition("/")[0].endswith("-orders")
            changed, words = word_errors(row["utterance"], heard.text)
            wrong, said = wrong + changed, said + words
    assert said > 200
    assert wrong / said < MOST_WRONG


@pytest.mark.parametrize("noise", NOTHING)
def test_noise_has_no_transcript(noise: str, ears: Transcriber) -> None:
    recording = Recording(RECORDINGS, lambda _: NOTHING[noise].astype(np.float32))
    assert ears.transcribe(recording, "en").nothing_was_said


def test_other_languages_use_the_plain_model(parts: Container) -> None:
    heard = parts.transcriber.transcribe(stored(SPANISH / "taqueria-luna-21.flac"), "es-MX")
    assert heard.source.startswith("faster-whisper-base/")
    assert (heard.language, heard.source.rpartition("/")[2]) == ("es", "es")
    assert "burrito" in heard.text.casefold()


def test_its_confidence_was_measured(parts: Container) -> None:
    second = parts.second_transcriber
    assert second is not None
    keys = [
        ears.transcribe(stored(RECORDINGS / "hc-01.flac"), "en").source
        for ears in (parts.transcriber, second)
    ]
    assert all(is_measured(key) and is_measured(f"{key}+{FITTED}") for key in keys)
    assert agreement(*keys, 0.5) is not None


def test_merged_weights_are_written_when_models_are_fetched(parts: Container) -> None:
    written = settings().models_dir / "adapters"
    parts.write_adapted(["faster-whisper-tiny.en"])
    adapter = adapter_of("faster-whisper-tiny.en")
    assert adapter is not None
    assert (written / release(adapter) / "model.bin").exists()
