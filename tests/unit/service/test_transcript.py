"""Where the words of a cart's line stand in what was transcribed."""

from __future__ import annotations

import pytest

from schemas.transcript import Transcript, Word

TEXT = "Yeah, a cold brew, no ice. And a cold brew."
SAID = Transcript(
    text=TEXT,
    confidence=0.9,
    words=tuple(
        Word(text=f" {word}", start_s=at, end_s=at + 0.5, probability=0.9)
        for at, word in enumerate(TEXT.split())
    ),
)


@pytest.mark.parametrize(
    ("span", "times"),
    [
        ("cold brew, no ice.", (2, 5.5)),
        ("cold brew, no ice", (2, 5.5)),
        ("cold brew", (2, 3.5)),
        ("Yeah", (0, 0.5)),
        ("ice and", None),
        ("latte", None),
        ("", None),
    ],
)
def test_words_are_found_with_and_without_punctuation(span: str, times: tuple[float, float] | None) -> None:
    words = SAID.words_of(span)
    assert (times is None) == (words == ())
    assert not words or (words[0].start_s, words[-1].end_s) == times


def test_spoken_words_are_not_found_in_an_earlier_typed_utterance() -> None:
    times = {"start_s": 1.0, "end_s": 2.0, "probability": 0.5, "utterance": 1}
    words = tuple(Word.model_validate(times | {"text": text}) for text in ("two", "muffins"))
    said = Transcript(text="two large lattes. two muffins.", starts=(18,), confidence=0.9, words=words)
    assert said.words_of("two large lattes") == ()
    assert said.words_of("two muffins") == words
