"""Several utterances as one transcript, and what a later one may change of an earlier cart."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.cart import CartDraft
from schemas.compare import corrections
from schemas.decision import ModelAnswer, Policy
from schemas.menu import MenuVersion
from schemas.transcript import Transcript, joined
from services.validation.alignment import span_of
from services.validation.decide import decide
from services.validation.questions import with_kept_answers
from tests.stand_ins import CAFE, in_review, speech

POLICY = Policy(asr_threshold=0.7, max_total=50_000)
TYPED = Transcript(text="Make it large!", confidence=1.0)


def decided(text: str, *lines: dict[str, Any]) -> Any:
    draft = CartDraft.model_validate({"lines": [{"kind": "item", "quantity": 1, **line} for line in lines]})
    version = MenuVersion("main", CAFE, 1, "", in_review(draft).created_at)
    answer = ModelAnswer(probability=1.0)
    return draft, decide(draft, Transcript(text=text, confidence=1.0), version, answer, POLICY)


def test_utterances_are_sentences_of_one_transcript() -> None:
    silent = Transcript(text="", confidence=0.0)
    first, last = speech("a latte", confidence=0.8), speech("and a muffin", confidence=0.9)
    found = joined([first, TYPED, silent, last])
    assert found.text == "a latte. Make it large! and a muffin."
    assert [found.text[start:] for start in found.starts] == [
        "Make it large! and a muffin.", " and a muffin.", "and a muffin.",
    ]  # fmt: skip
    assert (found.confidence, joined([first])) == (0.8, first)
    assert joined([silent, silent]).nothing_was_said


@pytest.mark.parametrize(
    ("words", "utterance", "start_s", "end_s"),
    [
        ("a latte", 0, 0.0, 0.7),
        ("latte. Make it large", 0, 0.4, 0.7),  # in the time of its own recording alone
        ("Make it large", 1, None, None),
        ("and a muffin", 2, 0.0, 1.1),
        ("a scone", 0, None, None),
    ],
)
def test_words_have_an_utterance_and_the_times_in_its_recording(
    words: str, utterance: int, start_s: float | None, end_s: float | None
) -> None:
    span = span_of(words, joined([speech("a latte"), TYPED, speech("and a muffin")]))
    assert (span.utterance, span.start_s, span.end_s) == (utterance, start_s, end_s)
    assert ("utterance" in span.model_dump()) == (utterance > 0), "as documents of one utterance were"


@pytest.mark.parametrize(
    ("second", "agreed", "shown"),
    [
        ({}, False, None),
        ({"agreed": True}, True, "a mocha. Make it large!"),
        ({"agreed": False}, False, "a mocha. Make it large!"),
    ],
)
def test_a_second_recognizer_counts_if_it_heard_any_utterance(
    second: dict[str, Any], agreed: bool, shown: str | None
) -> None:
    other = {"second": "a mocha", **second} if second else {}
    found = joined([speech("a latte").model_copy(update=other), TYPED])
    assert (found.agreed, found.second) == (agreed, shown)


LATTE = {"sku": "latte", "heard": "a latte"}
MUFFIN = {"sku": "muffin", "heard": "a muffin"}


@pytest.mark.parametrize(
    ("after", "words"),
    [
        ([{**LATTE, "size": "S"}, MUFFIN], []),
        ([{**LATTE, "heard": "latte. make it large", "size": "L"}, MUFFIN], ["another size of latte"]),
        ([{**LATTE, "size": "S"}], ["blueberry muffin taken off"]),
        ([MUFFIN, {**LATTE, "size": "S"}, {**LATTE, "size": "L", "heard": "a large latte"}], ["latte added"]),
        ([MUFFIN, {"sku": "mocha", "heard": "a mocha"}], ["latte taken off", "mocha added"]),
    ],
)  # fmt: skip
def test_a_change_of_the_cart_is_told(after: list[dict[str, Any]], words: list[str]) -> None:
    _, before = decided("", {**LATTE, "size": "S"}, MUFFIN)
    _, now = decided("", *after)
    assert list(corrections(before.cart, now.cart)) == words


RANCH = {"options": [{"group": "sauce", "id": "ranch"}]}
NUGGETS = {"sku": "nuggets", "heard": "nuggets"}


@pytest.mark.parametrize(
    ("before", "after", "kept"),
    [
        ({**LATTE, "size": "L"}, LATTE, ("L", [])),
        ({**LATTE, "size": "L"}, {**LATTE, "size": "S"}, ("S", [])),  # it is not open
        ({**LATTE, "size": "L"}, {**LATTE, "heard": "another latte"}, (None, [])),  # other words
        ({**NUGGETS, **RANCH}, NUGGETS, (None, ["ranch"])),
    ],
)
def test_a_choice_that_was_made_is_not_asked_again(
    before: dict[str, Any], after: dict[str, Any], kept: tuple[str | None, list[str]]
) -> None:
    _, had = decided("", before)
    draft, now = decided("", after, MUFFIN)
    line = with_kept_answers(draft, had.cart, now.findings).lines[0]
    assert (line.size, [option.id for option in line.options]) == kept
