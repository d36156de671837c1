"""When a recording is heard twice, and which hearing counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from schemas.transcript import Transcript
from services.pipeline.hearing import MAX_HINTS, hear, hints
from services.pipeline.retrieve import retrieve
from services.pipeline.validate import check_hearing
from tests.stand_ins import CAFE, ScriptedTranscriber, sample_menu

RECORDING = Path("order.flac")


def heard(first: str, second: str) -> tuple[Transcript, ScriptedTranscriber]:
    once, again = (Transcript(text=text, confidence=0.8) for text in (first, second))
    ears = ScriptedTranscriber([once], again=again)
    return hear(RECORDING, "en", CAFE, 1, ears), ears


def test_a_plain_order_and_silence_are_heard_once() -> None:
    for text in ("a small latte with oat milk please", ""):
        transcript, ears = heard(text, "two mochas")
        assert transcript.text == text
        assert transcript.first_heard is None
        assert ears.hinted == []


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
    (finding,) = check_hearing(transcript)
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
    found = hints(retrieve("a small unyun wrangs please", menu, 1))
    assert len(found) <= MAX_HINTS
    assert "onion rings" in found[-3:]


def test_a_transcript_heard_once_has_no_finding() -> None:
    assert check_hearing(Transcript(text="a latte", confidence=1.0)) == []
