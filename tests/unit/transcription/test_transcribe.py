"""The passes over a recording, and which transcript is used."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from schemas.errors import DecodeCancelled
from schemas.transcript import Transcript
from services.retrieval.names import MenuNames
from services.transcription.audio.audio import RATE
from services.transcription.encoded import FittedEncoder
from services.transcription.ports import Recording
from services.transcription.second import with_second
from services.transcription.transcribe import transcribe_recording
from services.transcription.whisper import WhisperTranscriber
from tests.stand_ins import CAFE, ScriptedTranscriber, recorded

RECORDING, NAMES = recorded(Path("order.flac")), MenuNames(CAFE)
FLOOR = 0.72
PLAIN = "a small latte with oat milk please"


def transcript_of(transcriber: ScriptedTranscriber) -> Transcript:
    return transcribe_recording(RECORDING, "en", NAMES, transcriber, floor=FLOOR)


def of(text: str, confidence: float = 0.8) -> Transcript:
    return Transcript(text=text, confidence=confidence)


@pytest.mark.parametrize("text", [PLAIN, "", "a large lagoon with soy milk"])
def test_without_other_passes_the_whole_transcript_is_used(text: str) -> None:
    transcriber = ScriptedTranscriber([of(text)])
    assert transcript_of(transcriber) == of(text)
    assert len(transcriber.heard) == 1


@pytest.mark.parametrize("text", [PLAIN, "2 lattes", "a kids one"])
def test_a_clear_fitted_transcript_is_enough(text: str) -> None:
    fitted = of(text, FLOOR)
    transcriber = ScriptedTranscriber([of("two mochas", 1)], fitted=fitted)
    assert transcript_of(transcriber) == fitted
    assert transcriber.heard == []


@pytest.mark.parametrize(
    ("text", "confidence"),
    [
        (PLAIN, FLOOR - 0.01),
        ("a small latte with goat silk please", 0.99),
        ("thank you very much", 0.99),
        ("a large one with soy milk", 0.99),
        ("a large americana", 0.99),
        ("", 0.0),
    ],
    ids=["not sure", "an unknown word", "nothing named", "no item", "only sounds like an item", "silence"],
)
def test_a_doubtful_fitted_transcript_is_discarded(text: str, confidence: float) -> None:
    whole = of("a large latte with soy milk")
    transcriber = ScriptedTranscriber([whole], fitted=of(text, confidence))
    assert transcript_of(transcriber) == whole
    assert len(transcriber.heard) == 1


@pytest.mark.parametrize(
    ("whole", "denoised"),
    [
        ("a large lagoon with soy milk", "a large latte with soy milk"),
        ("a large latte with goat silk please", "a large latte with oat milk please"),
        ("a large latte", "a large latte with oat milk"),  # unsure, and fewer names
    ],
)
def test_in_doubt_the_transcript_that_the_menu_explains_better_is_used(whole: str, denoised: str) -> None:
    noisy, quiet = (of(text, FLOOR - 0.1) for text in (whole, denoised))
    better = transcript_of(ScriptedTranscriber([noisy], denoised=quiet))
    assert better == quiet.model_copy(update={"with_noise": whole})
    assert transcript_of(ScriptedTranscriber([quiet], denoised=noisy)) == quiet


def test_on_a_tie_the_first_transcript_is_used() -> None:
    noisy = of("a large latte then", FLOOR - 0.1)
    assert transcript_of(ScriptedTranscriber([noisy], denoised=of("one large latte", FLOOR - 0.1))) == noisy


@pytest.mark.parametrize("text", ["", "a flurble"])
def test_an_empty_denoised_transcript_is_never_used(text: str) -> None:
    """Fewer words would mean fewer unexplained ones."""
    noisy = of("a flurble and a florb")
    found = transcript_of(ScriptedTranscriber([noisy], denoised=of(text)))
    assert (found.text == noisy.text) is (text == "")


@pytest.mark.parametrize(
    ("whole", "confidence"), [("a large latte with soy milk", FLOOR), ("", 0.0)], ids=["sure", "silence"]
)
def test_clear_transcripts_are_not_denoised(whole: str, confidence: float) -> None:
    """Another pass over silence could invent an order."""
    transcriber = ScriptedTranscriber(
        [of(whole, confidence)], denoised=of("two small lattes with soy milk and oat milk", 1)
    )
    assert transcript_of(transcriber) == of(whole, confidence)


@pytest.mark.parametrize("plain", [True, False])
def test_quiet_speech_is_not_part_of_the_order(plain: bool) -> None:
    said = of("a small latte", 0.95)
    found = transcript_of(ScriptedTranscriber([said], fitted=said if plain else None, quiet="with no milk"))
    assert (found.text, found.quiet) == ("a small latte", "with no milk")


def test_quiet_speech_alone_is_no_order() -> None:
    assert transcript_of(ScriptedTranscriber([of("", 0.0)], quiet="a latte")) == of("", 0.0)


def test_a_cancelled_order_is_transcribed_no_further_than_its_window() -> None:
    called_off, windows = threading.Event(), list[int]()

    def segments() -> Iterator[Mock]:
        for window in range(2):
            windows.append(window)
            called_off.set()
            yield Mock(text="a latte", words=(), avg_logprob=-0.1, no_speech_prob=0.0, compression_ratio=1.0)

    whisper = WhisperTranscriber("", name="faster-whisper-base")
    whisper._model = Mock(supported_languages=("en",), encode=FittedEncoder(Mock()))
    whisper._model.transcribe.side_effect = lambda *_, **__: (segments(), None)
    recording = Recording(Path("order.flac"), lambda _: np.zeros(RATE, np.float32), called_off)
    with pytest.raises(DecodeCancelled):
        transcribe_recording(recording, "en", NAMES, whisper, floor=FLOOR)
    with pytest.raises(DecodeCancelled):
        with_second(recording, of(PLAIN, 0.6), NAMES, lambda: whisper, lambda *_: None)
    assert windows == [0]
