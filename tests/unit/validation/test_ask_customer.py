"""What a reviewer may ask the customer, and what the answer makes of the order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from schemas.errors import Conflict, InvalidCart
from schemas.lifecycle import Event
from schemas.open_questions import question_of, takes_more
from schemas.order import MAX_UTTERANCES
from schemas.priced_cart import Finding
from schemas.question import StaffQuestion
from schemas.records.orders import OrderRecord
from schemas.review import ReviewReason
from services.pipeline.ask_customer import ask
from services.storage.orders.intake import added
from tests.stand_ins import CAFE
from tests.unit.validation.test_questions import draft, given, order

ALLERGY = Finding.blocking("allergy_said", "You said “no nuts”.")
MILK = {"text": " Which milk? ", "answers": ["Oat", "Soy"]}
SIZE = {"question": "0/size"}
AGAIN = {"question": "staff/again"}


def doubted(*more: Finding) -> OrderRecord:
    """An order with an open size that its customer isn't asked about, since it was hard to hear."""
    made = order(draft({"sku": "latte"}))
    return replace(made, reasons=(ReviewReason.LOW_ASR_CONFIDENCE,), findings=(*more, *made.findings))


def asked(sent: dict[str, Any], of: OrderRecord | None = None) -> OrderRecord:
    of = of or doubted()
    outcome = ask(of, StaffQuestion(version=1, **sent), "ada", CAFE)
    assert outcome.event is Event.ASKED
    return replace(of, findings=outcome.findings or (), version=of.version + 1)


@pytest.mark.parametrize(
    ("sent", "audio", "question", "text", "answers"),
    [
        (MILK, None, "staff/5", "Which milk?", ["Oat", "Soy"]),
        (SIZE, None, "0/size", "Small, medium or large latte?", ["small", "medium", "large"]),
        (AGAIN, None, "staff/again", "Please type your whole order again.", []),
        (AGAIN, "wav", "staff/again", "Please say your whole order again.", []),
    ],
)
def test_a_question_is_asked_whatever_else_is_in_doubt(
    sent: dict[str, Any], audio: str | None, question: str, text: str, answers: list[str]
) -> None:
    assert question_of(doubted(ALLERGY)) is None
    shown = question_of(asked(sent, replace(doubted(ALLERGY), audio_format=audio, source="page:1")))
    assert shown is not None
    assert (shown.id, shown.text) == (question, text)
    assert [answer.text for answer in shown.answers] == answers


@pytest.mark.parametrize(
    ("sent", "error"),
    [
        ({}, ValidationError),
        ({"text": "Which milk?"}, ValidationError),
        (SIZE | {"answers": ["S", "L"]}, ValidationError),
        (SIZE | MILK, ValidationError),
        (MILK | {"text": "?" * 121}, ValidationError),
        (MILK | {"text": " "}, ValidationError),
        (MILK | {"text": "Which\u202emilk?"}, ValidationError),
        (MILK | {"answers": ["Oat"]}, ValidationError),
        (MILK | {"answers": ["Oat", "a" * 41]}, ValidationError),
        (MILK | {"answers": list("abcde")}, ValidationError),
        (SIZE | {"question": "1/size"}, Conflict),
        (SIZE | {"question": "order/right"}, Conflict),
    ],
)
def test_what_may_not_be_asked(sent: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        asked(sent)


def test_an_answer_in_staffs_words_is_for_staff_and_stays_until_the_order_is_settled() -> None:
    of = asked(MILK)
    outcome = given(of, "staff/5", "2")
    assert (outcome.event, outcome.draft, outcome.cart) == (Event.CHOSEN, None, None)
    assert outcome.findings is not None
    first = outcome.findings[0]
    assert (first.code, first.message) == ("staff_answered", "You answered “Soy”.")
    assert first.detail == "We asked: “Which milk?” The customer answered: “Soy”"
    of = asked(SIZE, replace(of, findings=outcome.findings))
    with pytest.raises(Conflict):
        given(of, "staff/5", "1")
    outcome = given(of, "0/size", "L")
    assert outcome.cart is not None
    assert (outcome.cart.lines[0].size, outcome.findings) == ("L", (first,))


@pytest.mark.parametrize(("more", "left"), [((), 1), ((ALLERGY,), MAX_UTTERANCES + 1)])
def test_what_is_said_again_takes_the_place_of_all_but_an_allergy(
    more: tuple[Finding, ...], left: int
) -> None:
    of = doubted(*more)
    of = asked(AGAIN, replace(of, utterances=of.all_utterances * MAX_UTTERANCES))
    assert takes_more(of)
    with pytest.raises(InvalidCart):
        given(of, "staff/again", "yes")
    _, columns = added(of, of.utterances[0])
    assert len(columns["utterances"] or [1]) == left
