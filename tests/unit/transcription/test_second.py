"""When a second recognizer is used, when it agrees, and what that adds to the confidence."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import Mock

import pytest

from infra.settings import Settings
from infra.weights.lock import ModelError
from schemas.errors import EngineUnavailable
from schemas.transcript import Transcript, Word
from services.bootstrap import bootstrap
from services.retrieval.names import MenuNames
from services.transcription.confidence import agreement, calibrated, is_measured
from services.transcription.second import SURE, SURE_WORD, same_things, with_second
from tests.stand_ins import AGREEMENT, CAFE, SAID, ScriptedTranscriber, recorded, speech

FILE = Path("order.flac")
RECORDING, NAMES = recorded(FILE), MenuNames(CAFE)
KEY = "int8/beam5-t0-vad"
BASE, TINY = (f"faster-whisper-{name}/{KEY}/en" for name in ("base", "tiny.en"))


def asked(first: Transcript, second: ScriptedTranscriber, share: float | None = AGREEMENT) -> Transcript:
    return with_second(RECORDING, first, NAMES, lambda: second, lambda *_: share)


def answering(first: Transcript, other: str, share: float | None = AGREEMENT) -> Transcript:
    """Return `first` after the second recognizer transcribed `other`."""
    return asked(first, ScriptedTranscriber([speech(other)]), share)


def unsure(text: str = SAID, confidence: float = 0.6) -> Transcript:
    return speech(text, confidence=confidence)


@pytest.mark.parametrize(
    ("fitted", "whole", "second", "agreed", "times"),
    [
        (SAID, "two mochas", SAID, True, 0),
        ("two mochas", SAID, SAID, True, 1),
        ("two mochas", "three mochas", "three mochas", False, 1),
        ("", SAID, SAID, True, 1),
    ],
)
def test_a_fitted_pass_that_agrees_is_enough(
    fitted: str, whole: str, second: str, agreed: bool, times: int
) -> None:
    transcriber = ScriptedTranscriber([speech(whole)], fitted=Transcript(text=fitted, confidence=0.9))
    found = asked(unsure(), transcriber)
    assert (found.second, found.agreed, len(transcriber.heard)) == (second, agreed, times)


def spoken(text: str, confidence: float = 0.95, **probability: float) -> Transcript:
    """Return a transcript whose words have a probability of 0.95, except for these."""
    words = tuple(
        Word(text=word, start_s=at, end_s=at + 1, probability=probability.get(word, 0.95))
        for at, word in enumerate(text.split())
    )
    return Transcript(text=text, confidence=confidence, words=words, source=BASE)


@pytest.mark.parametrize(
    ("first", "times"),
    [
        (spoken("two large lattes", SURE), 0),
        (spoken("two large lattes", SURE - 0.01), 1),
        (spoken("two large lattes please", please=0.1), 0),
        (spoken("two large lattes", lattes=SURE_WORD), 0),
        (spoken("two large lattes", lattes=SURE_WORD - 0.01), 1),
        (spoken("two large lattes", two=0.4), 1),
        (spoken("two large lattes and a flurble"), 1),
        (Transcript(text="two large lattes", confidence=0.95), 0),
        (spoken("dos latte", 0.6).model_copy(update={"language": "es"}), 0),
        (Transcript(text="", confidence=0.0), 0),
    ],
    ids=[
        "sure", "not sure", "a small word", "a sure name", "an unsure name", "an unsure number",
        "an unknown word", "no words' times", "another language", "silence",
    ],
)  # fmt: skip
def test_it_is_asked_unless_the_first_is_certain(first: Transcript, times: int) -> None:
    transcriber = ScriptedTranscriber([speech(SAID)])
    found = asked(first, transcriber)
    assert len(transcriber.heard) == times
    if not times:
        assert found == first


def test_agreement_also_applies_to_fitted_passes() -> None:
    fitted = speech(SAID).model_copy(update={"source": f"{TINY}+fitted"})
    second = ScriptedTranscriber([speech("two mochas")], fitted=fitted)
    first = unsure().model_copy(update={"source": f"{BASE}+fitted"})
    found = with_second(RECORDING, first, NAMES, lambda: second, agreement)
    assert found.agreed
    assert found.confidence == found.agreement == agreement(BASE, TINY, first.confidence)


@pytest.mark.parametrize(
    "other",
    [
        SAID,
        "get a large latte with oat milk and a blueberry muffin please",
        "1 large latte with oat milk, one blueberry muffin",
        "a large latte with oat and a blueberry muffin",
    ],
)
def test_the_same_things_in_other_words_have_the_measured_confidence(other: str) -> None:
    second = ScriptedTranscriber([speech(other)])
    found = asked(unsure(), second)
    assert second.heard == [(FILE, "en")]
    assert (found.text, found.words) == (SAID, unsure().words)
    assert (found.second, found.agreed, found.confidence) == (other, True, AGREEMENT)


def test_agreement_never_lowers_the_confidence() -> None:
    found = answering(unsure(confidence=0.85), SAID, share=0.8)
    assert (found.agreed, found.confidence) == (True, 0.85)


@pytest.mark.parametrize(
    "other",
    [
        "a large latte with oat milk and two blueberry muffins",
        "a small latte with oat milk and a blueberry muffin",
        "a blueberry muffin and a large latte with oat milk",
        "a large latte with extra oat milk and a blueberry muffin",
        "a large latte with oat milk and no blueberry muffin",
        "a large latte with oat milk or a blueberry muffin",
        "a large latte with oat milk",
        "a large latte with oat milk and a blueberry muffin and a flurble",
        "",
    ],
)
def test_a_different_second_transcript_is_stored_without_effect(other: str) -> None:
    assert answering(unsure(), other) == unsure().model_copy(update={"second": other, "agreement": AGREEMENT})


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        # Both may mean an americano, but the words differ.
        ("a small americana please", "a small americano please", False),
        ("a small americana please", "a small americino please", False),
        ("a small americana please", "a small americana please", True),
        ("a small americano please", "a small americano please", True),
        ("hello there", "hello there", False),  # without a name it is no order
        ("hello i would like to get a mocha please", "uh a mocha", False),  # mostly other words
    ],
)
def test_two_transcripts_agree_where_they_name_the_same_things(one: str, other: str, same: bool) -> None:
    assert same_things(one, other, NAMES) is same


@pytest.mark.parametrize(
    ("other", "agreed"),
    [
        ("A large latte – and a FLURBLE!", True),
        ("1 large latte and a flurble", False),  # "a" may be a part of something unknown
        ("a large latte and a flurb", False),
    ],
)
@pytest.mark.parametrize("confidence", [0.6, 0.95])
def test_agreement_on_an_unknown_word_adds_no_confidence(other: str, agreed: bool, confidence: float) -> None:
    first = unsure("a large latte and a flurble", confidence)
    update = {"second": other, "agreed": agreed, "agreement": AGREEMENT}
    assert answering(first, other) == first.model_copy(update=update)
    assert answering(first, other, None) == first.model_copy(update={"second": other})


@pytest.mark.parametrize("error", [EngineUnavailable("out of memory"), RuntimeError("a bug")])
def test_a_failing_recognizer_leaves_the_first_transcript(error: Exception) -> None:
    assert asked(unsure(), ScriptedTranscriber([error])) == unsure()


def test_a_failing_whole_pass_leaves_the_fitted_transcript() -> None:
    found = asked(unsure(), ScriptedTranscriber([EngineUnavailable("away")], fitted=speech("two mochas")))
    assert (found.second, found.agreed, found.confidence) == ("two mochas", False, 0.6)


def test_nothing_changes_without_a_second_recognizer() -> None:
    missing = Mock(side_effect=ModelError("The weights are not there.", hint="Run `make weights`."))
    for second in (missing, lambda: None):
        assert with_second(RECORDING, unsure(), NAMES, second, agreement) == unsure()


def test_an_empty_setting_disables_the_second_recognizer(tmp_path: Path) -> None:
    assert bootstrap(Settings(home=tmp_path, whisper_second="")).second_transcriber is None


def test_an_unmeasured_pair_adds_no_confidence() -> None:
    assert answering(unsure(), SAID, share=None) == unsure().model_copy(update={"second": SAID})


def test_the_shipped_pair_is_measured_one_way_and_under_the_floor() -> None:
    share = agreement(BASE, TINY, 0.5)
    assert share is not None
    assert 0.9 < share < 1
    assert agreement(TINY, BASE, 0.5) is None
    assert unsure().model_copy(update={"source": f"{BASE}+denoised"}).recogniser == BASE


def test_agreement_adds_more_to_a_higher_confidence() -> None:
    first, second = (key.replace("/", "-orders/", 1) for key in (BASE, TINY))
    shares = [agreement(first, second, sure) for sure in (0.0, 0.71, 0.72, 1.0)]
    assert shares == sorted(filter(None, shares))
    assert shares[0] == shares[1] != shares[2] == shares[3]


def test_spanish_has_less_confidence_than_english() -> None:
    spanish = f"faster-whisper-base/{KEY}/es"
    assert not is_measured(spanish)
    for percent in range(1, 101):
        assert calibrated(percent / 100, spanish) < calibrated(percent / 100, BASE)
