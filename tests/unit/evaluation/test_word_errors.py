"""Word error rate: errors of transcription, and what is only another way of writing."""

from __future__ import annotations

import pytest

from services.learning.evaluation.word_errors import word_errors


@pytest.mark.parametrize(
    ("said", "heard"),
    [
        ("Two large lattes, please.", "2 large lattes please"),
        ("a twenty ounce drip", "A 20-ounce drip!"),
        ("twenty-five nuggets", "25 nuggets"),
        ("I'd like a café crème", "Id like a cafe creme"),
        ("I’d like two percent milk", "i'd like 2% milk"),
        ("twelve oz", "12oz"),
        ("room 100, zero or ninety", "room 100, 0 or 90"),
    ],
)
def test_another_way_of_writing_is_no_error(said: str, heard: str) -> None:
    assert word_errors(said, heard)[0] == 0


@pytest.mark.parametrize(
    ("said", "heard", "errors", "words"),
    [
        ("a dark roast latte", "a dark rose latte", 1, 4),
        ("a latte with oat milk", "latte with oat milk please", 2, 5),
        ("um a latte", "a latte", 1, 3),
        ("two lattes", "to lattes", 1, 2),
        ("a double latte", "2 latte", 2, 3),
        ("a latte", "", 2, 2),
        ("", "thank you", 2, 0),
    ],
)
def test_errors_are_counted(said: str, heard: str, errors: int, words: int) -> None:
    assert word_errors(said, heard) == (errors, words)
