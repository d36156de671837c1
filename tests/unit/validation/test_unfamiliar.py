"""Words that hardly any order has: the customer is told that they were not understood."""

from __future__ import annotations

import pytest

from schemas.decision import ACCEPT, ASK, Verdict
from services.retrieval.names import names_of
from services.validation.unfamiliar import unfamiliar, with_context
from tests.stand_ins import CAFE
from tests.unit.validation.test_decide import SAID, asks, decided
from tests.unit.validation.test_facts import draft

STRANGE = "last time my wife sang opera"


@pytest.mark.parametrize(
    ("unused", "strange"),
    [
        (("hi", "there", "can", "you"), ()),
        (("for", "my", "wife", "she", "wants"), ()),
        (("17", "bag"), ()),
        (("my", "lips", "went", "numb"), ("went", "numb")),
        (("they'd", "put", "me", "in", "an", "ambulance"), ("theyd", "ambulance")),
    ],
)
def test_words_of_ordering_are_familiar(unused: tuple[str, ...], strange: tuple[str, ...]) -> None:
    assert unfamiliar(unused, names_of(CAFE)) == strange


@pytest.mark.parametrize(
    ("said", "probability", "verdict"),
    [
        (SAID, ACCEPT, Verdict.ACCEPTED),
        (f"{SAID} and some opera", ACCEPT, Verdict.ACCEPTED),
        (f"{SAID}, {STRANGE}", ACCEPT, Verdict.ASKS),
        (f"{SAID}, {STRANGE}", ASK - 0.01, Verdict.NEEDS_REVIEW),
    ],
)
def test_several_unfamiliar_words_are_a_doubt(said: str, probability: float, verdict: Verdict) -> None:
    assert decided(probability=probability, text=said).decision.verdict is verdict


def test_the_question_quotes_what_was_not_understood() -> None:
    made = decided(text=f"{SAID}, {STRANGE}")
    assert asks(made) == "order/right"
    assert made.decision.question is not None
    assert made.decision.question.text.startswith("We didn't understand “sang opera”. Is this your")


def test_words_far_apart_are_quoted_apart() -> None:
    text = f"for Wojciech {'a latte and ' * 20}my lips went numb"
    assert with_context(text, ("wojciech", "went", "numb")) == "for Wojciech” “went numb"
    assert with_context("a latte please, ignore the rest", ("ignore", "rest")) == "ignore the rest"


def test_noise_is_still_asked_about() -> None:
    assert asks(decided(draft(), text="testing the opera wojciech")) == "order/nothing"
