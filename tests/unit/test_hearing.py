"""What is made of a recogniser's words and numbers, without a recogniser."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import pytest

from schemas.transcript import Word
from services.engines.confidence import TABLES, calibrated, is_measured
from services.engines.whisper import Segment, _words, is_phantom, raw_confidence

DOCUMENT = json.loads(TABLES.read_text())
BASE = "faster-whisper-base/int8/beam5-t0-vad/en"
WORD = Word(text="latte", start_s=0, end_s=0.4, probability=0.9)
SPEECH = Segment(" a latte", (WORD, WORD), avg_logprob=-0.3, no_speech=0.02, compression=0.9)


@pytest.mark.parametrize("key", [*DOCUMENT["tables"], "fallback", "never measured"])
def test_confidence_rises_from_0_and_stays_within_1(key: str) -> None:
    values = [calibrated(raw / 200, key) for raw in range(201)]
    assert values[0] == 0
    assert all(low <= high for low, high in pairwise(values))
    assert values[-1] < 1


@pytest.mark.parametrize("key", list(DOCUMENT["tables"]))
def test_a_table_is_what_was_counted(key: str) -> None:
    table = DOCUMENT["tables"][key]
    assert sum(row[2] for row in table["rows"]) == table["heard"]
    assert sum(row[3] for row in table["rows"]) == table["heard_right"]
    for low, mean, count, right, confidence in table["rows"]:
        assert low <= mean
        assert calibrated(mean, key) == pytest.approx(confidence)
        assert confidence == pytest.approx(right / count, abs=0.06)


def test_an_unmeasured_recogniser_is_trusted_less() -> None:
    assert is_measured(BASE)
    assert not is_measured("fallback")
    for raw in (0.7, 0.8, 0.85, 0.9, 0.95, 1.0):
        assert calibrated(raw, "new-model/int8/beam5-t0-vad/en") < min(
            calibrated(raw, key) for key in DOCUMENT["tables"]
        )


def test_the_default_threshold_lies_where_whisper_still_sounds_sure() -> None:
    """0.72 on the raw mean would separate nothing: see `infra.settings.asr_threshold`."""
    assert calibrated(0.80, BASE) < 0.72 < calibrated(0.93, BASE)


@pytest.mark.parametrize(
    ("change", "phantom"),
    [
        ({}, False),
        ({"compression": 2.5}, True),
        ({"no_speech": 0.7}, True),
        ({"avg_logprob": -1.1}, True),
        ({"avg_logprob": -0.9, "no_speech": 0.4}, False),
    ],
)
def test_phantoms(change: dict[str, float], phantom: bool) -> None:
    assert is_phantom(replace(SPEECH, **change)) is phantom


def test_what_was_dropped_lowers_what_is_left() -> None:
    phantom = replace(SPEECH, compression=9.0)
    assert raw_confidence([SPEECH]) == pytest.approx(0.9)
    assert raw_confidence([SPEECH, phantom]) == pytest.approx(0.6)
    assert raw_confidence([phantom]) == raw_confidence([]) == 0
    assert raw_confidence([replace(SPEECH, words=(), avg_logprob=-0.1)]) == pytest.approx(0.905, abs=0.001)


def piece(word: str, start: float, probability: float) -> SimpleNamespace:
    return SimpleNamespace(word=word, start=start, end=start + 0.2, probability=probability)


def test_pieces_of_a_word_are_joined() -> None:
    found = [
        piece(" half", 0.0, 0.9),
        piece("-and-half,", 0.2, 0.6),
        piece(" ", 0.4, 0.1),
        piece(" please.", 0.5, 1.0),
    ]
    words = _words(found, spaced=True)
    assert [word.text for word in words] == ["half-and-half,", "please."]
    assert (words[0].start_s, words[0].end_s, words[0].probability) == (0.0, pytest.approx(0.4), 0.6)
    assert [word.text for word in _words([piece("拿", 0, 1), piece("铁", 1, 1)], spaced=False)] == [
        "拿",
        "铁",
    ]
