"""When a recording is heard twice, and which hearing counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from schemas.question import Choice, Question
from schemas.transcript import Transcript, Word
from services.checks.evidence import ALIKE, check_hearing, check_quiet
from services.checks.questions import HEARD, settled_by
from services.hearing.second_hearing import MAX_HINTS, hear, hints, replaced
from services.reading.language.language import language
from services.reading.order import read_order
from tests.stand_ins import CAFE, ScriptedTranscriber, recorded, sample_menu

RECORDING, EN = recorded(Path("order.flac")), language("en")
FLOOR = 0.72


def heard(first: str, second: str) -> tuple[Transcript, ScriptedTranscriber]:
    once, again = (Transcript(text=text, confidence=0.8) for text in (first, second))
    ears = ScriptedTranscriber([once], again=again)
    found = hear(RECORDING, "en", CAFE, 1, ears, floor=FLOOR)
    if found.evidence is not None:
        assert found.evidence == read_order(found.transcript.text, CAFE, 1)
    assert (found.evidence is None) == found.transcript.nothing_was_said
    return found.transcript, ears


def test_a_plain_order_and_silence_are_heard_once() -> None:
    for text in ("a small latte with oat milk please", ""):
        transcript, ears = heard(text, "two mochas")
        assert transcript.text == text
        assert transcript.first_heard is None
        assert ears.hinted == []


def test_what_is_plain_from_a_fitted_hearing_is_not_heard_whole() -> None:
    plain = Transcript(text="a small latte with oat milk please", confidence=FLOOR)
    ears = ScriptedTranscriber([Transcript(text="two mochas", confidence=1)], fitted=plain)
    found = hear(RECORDING, "en", CAFE, 1, ears, floor=FLOOR)
    assert found.transcript == plain
    assert found.evidence == read_order(plain.text, CAFE, 1)
    assert ears.heard == []


@pytest.mark.parametrize(
    ("fitted", "confidence"),
    [
        ("a small latte with oat milk please", FLOOR - 0.01),  # not sure
        ("a small latte with goat silk please", 0.99),  # a word that means nothing here
        ("thank you for watching", 0.99),  # no item
        ("", 0.0),
    ],
)
def test_whatever_a_fitted_hearing_leaves_open_is_heard_as_if_it_had_not_been(
    fitted: str, confidence: float
) -> None:
    whole = Transcript(text="a large lagoon with soy milk", confidence=0.8)
    again = Transcript(text="a large latte with soy milk", confidence=0.8)
    one, other = (ScriptedTranscriber([whole], again=again) for _ in range(2))
    one.fitted = Transcript(text=fitted, confidence=confidence)
    found = [hear(RECORDING, "en", CAFE, 1, ears, floor=FLOOR) for ears in (one, other)]
    assert found[0] == found[1]
    assert len(one.heard) == len(one.hinted) == 1


@pytest.mark.parametrize(
    ("whole", "denoised"),
    [
        ("a large lagoon with soy milk", "a large latte with soy milk"),
        ("a large latte with goat silk please", "a large latte with oat milk please"),
        ("a large latte", "a large latte with oat milk"),  # unsure, and less was understood
    ],
)
def test_of_a_doubtful_recording_the_hearing_stands_that_is_understood_better(
    whole: str, denoised: str
) -> None:
    noisy, quiet = (Transcript(text=text, confidence=FLOOR - 0.1) for text in (whole, denoised))
    found = hear(RECORDING, "en", CAFE, 1, ScriptedTranscriber([noisy], denoised=quiet), floor=FLOOR)
    assert (found.transcript.text, found.transcript.with_noise) == (denoised, whole)
    assert found.transcript.confidence == quiet.confidence
    assert found.evidence == read_order(denoised, CAFE, 1)
    same = hear(RECORDING, "en", CAFE, 1, ScriptedTranscriber([quiet], denoised=noisy), floor=FLOOR)
    assert (same.transcript.text, same.transcript.with_noise) == (denoised, None)


@pytest.mark.parametrize(
    ("whole", "confidence"), [("a large latte with soy milk", FLOOR), ("", 0.0)], ids=["sure", "silence"]
)
def test_noise_is_no_question_where_nothing_is_in_doubt(whole: str, confidence: float) -> None:
    """A silence that is heard again could become an order."""
    ears = ScriptedTranscriber(
        [Transcript(text=whole, confidence=confidence)],
        denoised=Transcript(text="two small lattes with soy milk and oat milk", confidence=1),
    )
    found = hear(RECORDING, "en", CAFE, 1, ears, floor=FLOOR)
    assert (found.transcript.text, found.transcript.with_noise) == (whole, None)


def test_where_noise_was_turned_down_the_menus_words_are_listened_for_there() -> None:
    ears = ScriptedTranscriber(
        [Transcript(text="a lorge lagoon with soil", confidence=0.4)],
        denoised=Transcript(text="a large lagoon with soy milk", confidence=0.5),
        again=Transcript(text="a large latte with soy milk", confidence=0.5),
    )
    transcript = hear(RECORDING, "en", CAFE, 1, ears, floor=FLOOR).transcript
    assert (transcript.text, transcript.first_heard) == (
        "a large latte with soy milk", "a large lagoon with soy milk"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("a large lagoon with soy milk", "a large latte with soy milk"),
        ("a small medium-ro latte", "a small medium roast latte"),  # the size was part of what was misheard
        ("can I get that there", "can I get a latte there"),  # nothing was named at all
    ],
)
def test_a_clearer_second_hearing_replaces_the_first_and_is_shown(first: str, second: str) -> None:
    transcript, ears = heard(first, second)
    assert transcript.text == second
    assert transcript.first_heard == first
    assert len(ears.hinted) == 1
    (finding,) = check_hearing(transcript, FLOOR)
    assert (finding.code, finding.severity.value) == ("heard_again", "blocking")
    assert first in finding.message


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("a large latte with soy milk and a flurble", "a flurble with soy milk"),  # an item is lost
        ("a flurble and a latte", "a flurble and a latte and a florble"),  # no clearer
        ("a flurble and a latte", ""),
    ],
)
def test_a_second_hearing_that_loses_something_is_dropped(first: str, second: str) -> None:
    transcript, ears = heard(first, second)
    assert transcript == Transcript(text=first, confidence=0.8)
    assert len(ears.hinted) == 1


def test_hints_are_few_and_the_likeliest_stand_last() -> None:
    menu = sample_menu("copper-skillet")
    found = hints(read_order("a small unyun wrangs please", menu, 1))
    assert len(found) <= MAX_HINTS
    assert "onion rings" in found[-3:]


@pytest.mark.parametrize("plain", [True, False])
def test_what_was_said_quietly_beside_an_order_is_a_doubt_and_no_part_of_it(plain: bool) -> None:
    heard = Transcript(text="a small latte", confidence=0.95)
    ears = ScriptedTranscriber([heard], fitted=heard if plain else None, quiet="with no milk")
    transcript = hear(RECORDING, "en", CAFE, 1, ears, floor=FLOOR).transcript
    assert (transcript.text, transcript.quiet) == ("a small latte", "with no milk")
    (finding,) = check_quiet(transcript)
    assert (finding.code, finding.severity.value) == ("heard_quietly", "blocking")
    assert "with no milk" in finding.message
    question = Question(
        id=HEARD, text="?", answers=(Choice(id="yes", text="yes"), Choice(id="no", text="no"))
    )
    assert not settled_by(question, finding), "a yes is easily said to what is left"


def test_a_transcript_heard_once_has_no_finding() -> None:
    assert check_hearing(Transcript(text="a latte", confidence=1.0), FLOOR) == []


def spoken(text: str, **sure: float) -> Transcript:
    """A hearing whose words are sure (0.95) but for those named."""
    words = [
        Word(text=word, start_s=i, end_s=i + 1, probability=sure.get(word, 0.95))
        for i, word in enumerate(text.split())
    ]
    return Transcript(text=text, confidence=0.9, words=tuple(words))


@pytest.mark.parametrize(
    ("first", "second", "severity"),
    [
        # Unsure of a word that sounds like the menu's: put right.
        (spoken("a large maca please", maca=0.4), "a large mocha please", "info"),
        # The recogniser likes to hear thanks at the end; nothing is ordered by them.
        (spoken("a large maca", maca=0.4), "a large mocha thank you", "info"),
        # It was sure of a word that the menu does not have: a wish, perhaps.
        (spoken("a large matcha please", matcha=0.9), "a large mocha please", "blocking"),
        # Nothing like it was said.
        (spoken("a large zeppelin please", zeppelin=0.2), "a large mocha please", "blocking"),
    ],
)
def test_only_an_unsure_word_that_sounds_alike_is_put_right_without_a_look(
    first: Transcript, second: str, severity: str
) -> None:
    ears = ScriptedTranscriber([first], again=spoken(second))
    transcript = hear(RECORDING, "en", CAFE, 1, ears, floor=FLOOR).transcript
    assert transcript.text == second
    assert [f.severity.value for f in check_hearing(transcript, FLOOR)] == [severity]


def test_a_word_is_put_right_without_a_look_only_in_a_recording_that_was_heard_well() -> None:
    first = spoken("a large maca please", maca=0.4).model_copy(update={"confidence": FLOOR - 0.01})
    ears = ScriptedTranscriber([first], again=spoken("a large mocha please"))
    transcript = hear(RECORDING, "en", CAFE, 1, ears, floor=FLOOR).transcript
    assert (transcript.confidence, transcript.first_confidence) == (0.9, FLOOR - 0.01)
    assert [f.severity.value for f in check_hearing(transcript, FLOOR)] == ["blocking"]
    older = transcript.model_copy(
        update={"first_confidence": None}
    )  # of an older release: the first's is its own
    assert [f.severity.value for f in check_hearing(older, FLOOR)] == ["info"]


def test_what_was_only_heard_the_second_time_is_never_put_right() -> None:
    alike, _ = replaced(spoken("a large maca", maca=0.4), spoken("a large mocha with milk"), EN)
    assert alike is not None
    assert alike < ALIKE
