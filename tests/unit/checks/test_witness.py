"""When a second recogniser is asked, when it agrees, and what is gained by it."""

from __future__ import annotations

from pathlib import Path

import pytest

from infra.settings import Settings
from infra.weights.models import ModelError
from schemas.errors import EngineUnavailable, TooMuchToRead
from schemas.transcript import Transcript, Word
from services.bootstrap import bootstrap
from services.checks.evidence import check_hearing
from services.checks.one_cart import undoubted_cart
from services.engines.recognition.confidence import agreement
from services.hearing import second_recogniser
from services.hearing.second_hearing import Heard
from services.hearing.second_recogniser import SURE, same_order, with_witness
from services.reading.order import read_order
from tests.stand_ins import AGREEMENT, CAFE, SAID, ScriptedTranscriber, recorded, speech

FILE = Path("order.flac")
RECORDING = recorded(FILE)
DOUBT = {"floor": 0.72, "field_threshold": 0.94}
BASE, TINY = (f"faster-whisper-{name}/int8/beam5-t0-vad/en" for name in ("base", "tiny.en"))


def asked(
    heard: Transcript,
    other: Transcript | Exception,
    share: float | None = AGREEMENT,
) -> tuple[Transcript, ScriptedTranscriber]:
    """`heard` after the second recogniser had its say, and that recogniser."""
    ears = ScriptedTranscriber([other])
    known = known_as(heard)
    found = with_witness(RECORDING, known, CAFE, 1, lambda: ears, lambda *_: share, **DOUBT)
    assert found.evidence is known.evidence
    return found.transcript, ears


def known_as(heard: Transcript) -> Heard:
    """With what its words may mean, as `hear` gives it."""
    return Heard(heard, None if heard.nothing_was_said else read_order(heard.text, CAFE, 1))


def unsure(text: str = SAID, confidence: float = 0.6) -> Transcript:
    return speech(text, confidence=confidence)


@pytest.mark.parametrize(
    ("fitted", "whole", "told", "agreed", "heard"),
    [
        (SAID, "two mochas", SAID, True, 0),
        ("two mochas", SAID, SAID, True, 1),
        ("two mochas", "three mochas", "three mochas", False, 1),
        ("", SAID, SAID, True, 1),
    ],
)
def test_a_fitted_hearing_may_agree_and_only_a_whole_one_may_not(
    fitted: str, whole: str, told: str, agreed: bool, heard: int
) -> None:
    ears = ScriptedTranscriber([speech(whole)], fitted=Transcript(text=fitted, confidence=0.9))
    found = with_witness(
        RECORDING, known_as(unsure()), CAFE, 1, lambda: ears, lambda *_: AGREEMENT, **DOUBT
    ).transcript
    assert (found.witness, found.agreed, len(ears.heard)) == (told, agreed, heard)


@pytest.mark.parametrize(
    ("confidence", "least", "times"),
    [(0.72, 0.97, 0), (0.95, 0.97, 0), (0.71, 0.97, 1), (0.95, 0.2, 1)],
    ids=["at the floor", "sure", "under the floor", "words of a field are not sure"],
)
def test_it_is_asked_where_agreement_could_settle_a_doubt(
    confidence: float, least: float, times: int
) -> None:
    """By the floor and the confidence of each field, where these can be told."""
    words = [
        Word(text=word, start_s=i, end_s=i + 1, probability=least if i < 4 else 0.97)
        for i, word in enumerate(SAID.split())
    ]
    heard = Transcript(text=SAID, confidence=confidence, words=tuple(words), source=BASE)
    _, ears = asked(heard, speech(SAID))
    assert len(ears.heard) == times


def test_what_was_measured_of_a_recogniser_holds_for_its_fitted_hearing() -> None:
    fitted = speech(SAID).model_copy(update={"source": f"{TINY}+fitted"})
    ears = ScriptedTranscriber([speech("two mochas")], fitted=fitted)
    one = unsure().model_copy(update={"source": f"{BASE}+fitted"})
    found = with_witness(RECORDING, known_as(one), CAFE, 1, lambda: ears, agreement, **DOUBT).transcript
    assert found.agreed
    assert found.confidence == found.agreement == agreement(BASE, TINY, one.confidence)


def test_two_hearings_that_come_to_one_cart_in_mostly_other_words_bear_nothing_out() -> None:
    """What was said is "one mocha, no, make it two", and neither heard that."""
    one, other = "one mocha now makes its way", "one mocha now make it to him"
    left, told = (undoubted_cart(read_order(said, CAFE, 1)) for said in (one, other))
    assert left is not None
    assert left == told
    transcript, _ = asked(unsure(one, 0.25), speech(other))
    assert (transcript.witness, transcript.agreed, transcript.confidence) == (other, False, 0.25)


def test_a_whole_hearing_that_fails_leaves_the_doubt() -> None:
    ears = ScriptedTranscriber([EngineUnavailable("away")], fitted=speech("two mochas"))
    found = with_witness(RECORDING, known_as(unsure()), CAFE, 1, lambda: ears, lambda *_: AGREEMENT, **DOUBT)
    assert (found.transcript.agreed, found.transcript.confidence) == (False, 0.6)


@pytest.mark.parametrize(
    "other",
    [
        SAID,
        "get a large latte with oat milk and a blueberry muffin please",
        "1 large latte with oat milk, one blueberry muffin",
    ],
)
def test_the_same_order_in_other_words_is_as_sure_as_agreement_was_measured(other: str) -> None:
    transcript, ears = asked(unsure(), speech(other))
    assert ears.heard == [(FILE, "en")]
    assert ears.hinted == []
    assert (transcript.text, transcript.words) == (SAID, unsure().words)
    assert (transcript.witness, transcript.agreed, transcript.confidence) == (other, True, AGREEMENT)


def test_agreement_makes_no_hearing_less_sure() -> None:
    transcript, _ = asked(unsure(confidence=0.85), speech(SAID), share=0.8)
    assert (transcript.agreed, transcript.confidence) == (True, 0.85)


@pytest.mark.parametrize(
    "other",
    [
        "a large latte with oat milk and two blueberry muffins",
        "a small latte with oat milk and a blueberry muffin",
        "a large latte with extra oat milk and a blueberry muffin",
        "a large latte with oat milk",
        "a large latte with oat milk and a blueberry muffin and a flurble",  # not one order
        "",
    ],
)
def test_another_order_changes_nothing_and_is_kept_to_be_shown(other: str) -> None:
    transcript, _ = asked(unsure(), speech(other))
    assert transcript == unsure().model_copy(update={"witness": other, "agreement": AGREEMENT})


def test_a_name_that_only_one_of_them_heard_is_no_agreement() -> None:
    """Matching mends either to an americano, but they did not hear the same."""
    mended, meant = (read_order(f"a small {name} please", CAFE, 1) for name in ("americana", "americano"))
    assert undoubted_cart(mended) is not None
    assert not same_order(mended, meant)
    assert same_order(mended, mended)
    assert same_order(meant, meant)


@pytest.mark.parametrize(
    "heard",
    [
        unsure(confidence=SURE),
        unsure().model_copy(update={"language": "de"}),
        Transcript(text="", confidence=0.0),
    ],
    ids=["sure", "another language", "silence"],
)
def test_it_is_not_asked_where_it_could_spare_nothing(heard: Transcript) -> None:
    transcript, ears = asked(heard, speech(SAID))
    assert transcript == heard
    assert ears.heard == []


@pytest.mark.parametrize(
    ("other", "agreed"),
    [
        ("A large latte – and a FLURBLE!", True),
        ("1 large latte and a flurble", False),  # "a" may be a part of something that nobody knows
        ("a large latte and a flurb", False),
    ],
)
@pytest.mark.parametrize("confidence", [0.6, 0.95])
def test_an_open_order_in_the_same_words_is_agreed_upon_and_no_surer_as_a_whole(
    other: str, agreed: bool, confidence: float
) -> None:
    heard = unsure("a large latte and a flurble", confidence)
    transcript, _ = asked(heard, speech(other))
    told = {"witness": other, "agreed": agreed, "agreement": AGREEMENT}
    assert transcript == heard.model_copy(update=told)
    unmeasured, _ = asked(heard, speech(other), None)
    assert unmeasured == heard.model_copy(update={"witness": other})


@pytest.mark.parametrize("error", [EngineUnavailable("out of memory"), RuntimeError("a bug")])
def test_one_that_fails_leaves_the_doubt_and_the_order(error: Exception) -> None:
    assert asked(unsure(), error)[0] == unsure()


def test_without_a_second_recogniser_or_its_weights_everything_stays() -> None:
    def missing() -> ScriptedTranscriber:
        raise ModelError("The weights are not there.", hint="Run `make weights`.")

    for second in (missing, lambda: None):
        found = with_witness(RECORDING, known_as(unsure()), CAFE, 1, second, agreement, **DOUBT)
        assert found.transcript == unsure()


def test_an_empty_setting_is_no_second_recogniser(tmp_path: Path) -> None:
    assert bootstrap(Settings(home=tmp_path, whisper_second="")).second_transcriber is None


def test_a_pair_that_nobody_measured_gains_nothing() -> None:
    transcript, _ = asked(unsure(), speech(SAID), share=None)
    assert transcript == unsure().model_copy(update={"witness": SAID})


def test_a_second_hearing_is_borne_out_without_getting_surer() -> None:
    again = unsure(confidence=0.95).model_copy(update={"first_heard": "a large ladder with oat milk"})
    transcript, _ = asked(again, speech(SAID))
    assert (transcript.agreed, transcript.confidence) == (True, 0.95)
    assert [f.severity.value for f in check_hearing(transcript, 0.72)] == ["info"]
    below = again.model_copy(update={"confidence": 0.5})
    assert asked(below, speech(SAID))[0].confidence == 0.5
    other, _ = asked(again, speech("a small latte"))
    assert [f.severity.value for f in check_hearing(other, 0.72)] == ["blocking"]


def test_the_shipped_pair_is_measured_one_way_and_under_the_floor() -> None:
    share = agreement(BASE, TINY, 0.5)
    assert share is not None
    assert 0.9 < share < 1
    assert agreement(TINY, BASE, 0.5) is None
    heard = unsure().model_copy(update={"source": f"{BASE}+menu-words"})
    assert heard.recogniser == BASE


def test_agreement_counts_for_more_where_the_first_was_surer() -> None:
    first, second = (key.replace("/", "-orders/", 1) for key in (BASE, TINY))
    shares = [agreement(first, second, sure) for sure in (0.0, 0.71, 0.72, 1.0)]
    assert shares == sorted(filter(None, shares))
    assert shares[0] == shares[1] != shares[2] == shares[3]


def test_a_transcript_that_was_stored_before_still_loads() -> None:
    stored = unsure().model_dump(exclude={"witness", "agreed"})
    assert Transcript.model_validate(stored) == unsure()


def test_what_the_second_heard_and_nobody_can_read_vouches_for_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    heard = unsure()
    known = known_as(heard)

    def unreadable(*_: object) -> None:
        raise TooMuchToRead("too many names")

    monkeypatch.setattr(second_recogniser, "read_order", unreadable)
    ears = ScriptedTranscriber([speech(f"{SAID} today")])
    found = with_witness(RECORDING, known, CAFE, 1, lambda: ears, lambda *_: AGREEMENT, **DOUBT).transcript
    assert (found.witness, found.agreed, found.confidence) == (f"{SAID} today", False, heard.confidence)
