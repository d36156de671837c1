"""What is explained of an order: the names that its words may mean, its numbers, and what is left over."""

from __future__ import annotations

from typing import get_args

import pytest

from schemas.decision import Basis, Decision, ModelAnswer, UnsurePiece, Verdict
from schemas.explanation import MATCHES, VERDICTS, Explanation, MatchKind
from services.validation.explained import explain
from tests.stand_ins import CAFE


def explained(text: str) -> Explanation:
    return explain(text, CAFE, 4)


@pytest.mark.parametrize(
    ("text", "words", "meaning", "match"),
    [
        ("a coffee with mocha syrup", "mocha syrup", "mocha syrup (option)", "whole"),
        ("two lattes", "lattes", "latte (item)", "whole"),
        ("a muffin", "muffin", "blueberry muffin (item)", "partial"),
        ("coffee dark rowst", "dark rowst", "dark roast (option)", "misheard"),
    ],
)
def test_words_have_the_names_that_they_may_mean(text: str, words: str, meaning: str, match: str) -> None:
    found = [(one.words, one.meaning, one.match) for one in explained(text).mentions]
    assert (words, meaning, match) in found


def test_numbers_and_unexplained_words_stand_where_they_were_said() -> None:
    text = "twenty one lattes and a zeppelin"
    found = explained(text)
    assert [(one.words, one.value) for one in found.numbers] == [("twenty one", 21)]
    assert [one.words for one in found.unexplained] == ["zeppelin"]
    for one in (*found.numbers, *found.mentions, *found.unexplained):
        assert text[one.start : one.end] == one.words
    assert (found.menu, found.menu_version, found.text) == (CAFE.id, 4, text)


def test_a_stored_orders_answer_and_decision_are_part_of_it() -> None:
    answer = ModelAnswer(
        text='[{"item":"latte"}]', probability=0.7, unsure=(UnsurePiece(text="latte", probability=0.8),)
    )
    decision = Decision(verdict=Verdict.ASKS, basis=Basis(transcript_confidence=1.0, cart_probability=0.7))
    found = explain("a latte", CAFE, 4, answer=answer, decision=decision)
    assert Explanation.model_validate_json(found.model_dump_json()) == found
    assert (found.answer, found.decision) == (answer, decision)
    bare = explained("a latte")
    assert (bare.answer, bare.decision) == (None, None)


def test_every_match_and_verdict_is_said_in_words() -> None:
    assert set(MATCHES) == set(get_args(MatchKind))
    assert set(VERDICTS) == set(Verdict)
