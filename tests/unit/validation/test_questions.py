"""The one question: when an order asks it, and what an answer makes of the cart."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from schemas.cart import CartDraft
from schemas.decision import ModelAnswer, Policy
from schemas.errors import Conflict, InvalidCart
from schemas.lifecycle import Event, State
from schemas.menu import Menu, MenuVersion
from schemas.open_questions import open_question
from schemas.priced_cart import Finding
from schemas.question import Choice, CustomerAnswer, Question
from schemas.records.orders import OrderRecord, Outcome
from schemas.review import ReviewReason
from schemas.transcript import Transcript
from services.pipeline.review import settle_by_answer
from services.validation.decide import decide
from services.validation.facts import check_facts
from services.validation.questions import MAX_ANSWERS
from tests.stand_ins import CAFE, in_review

DOUBT = (ReviewReason.BLOCKING_FINDING,)
TEXT = Transcript(text="it", confidence=1.0)
POLICY = Policy(asr_threshold=0.72, max_total=50_000)
MENU = MenuVersion("main", CAFE, 4, "digest", datetime(2026, 1, 1, tzinfo=UTC))


def draft(*lines: dict[str, Any]) -> CartDraft:
    known = {"kind": "item", "heard": "it", "quantity": 1}
    return CartDraft.model_validate({"lines": [{**known, **line} for line in lines]})


def asked(of: CartDraft, reasons: tuple[ReviewReason, ...] = DOUBT) -> Question | None:
    return open_question(check_facts(of, CAFE), reasons)


def order(of: CartDraft, **more: Any) -> OrderRecord:
    sure = ModelAnswer(probability=1.0)
    findings = tuple(check_facts(of, CAFE))
    return replace(in_review(of), findings=findings, reasons=DOUBT, answer=sure, **more)


def given(of: OrderRecord, question: str, answer: str) -> Outcome:
    return settle_by_answer(of, CustomerAnswer(question=question, answer=answer), MENU, POLICY)


OAT = {"group": "milk", "id": "oat"}
SAUCE = "Which sauce would you like with your nuggets?"


@pytest.mark.parametrize(
    ("of", "place", "text", "answers"),
    [
        (draft({"sku": "latte", "size": "S"}, {"sku": "iced-latte"}), "1/size", "Small or large iced latte?",
         [("S", 420), ("L", 520)]),
        (draft({"sku": "latte", "quantity": 2, "options": [OAT]}), "0/size", "Small, medium or large latte?",
         [("S", 460), ("M", 510), ("L", 560)]),
        # Without what has run out.
        (draft({"sku": "nuggets", "size": "P10"}), "0/options/sauce", f"{SAUCE} Ranch or barbecue?",
         [("ranch", 650), ("barbecue", 650)]),
    ],
)  # fmt: skip
def test_an_open_choice_is_asked_with_what_one_costs_by_each_answer(
    of: CartDraft, place: str, text: str, answers: list[tuple[str, int]]
) -> None:
    question = asked(of)
    assert question is not None
    assert (question.id, question.text) == (place, text)
    assert [(one.id, one.price) for one in question.answers if not one.price_is_minimum] == answers


@pytest.mark.parametrize(
    ("of", "reasons"),
    [
        (draft({"sku": "latte"}), (*DOUBT, ReviewReason.LOW_ASR_CONFIDENCE)),
        (draft({"sku": "latte", "size": "S"}), ()),
        (draft({"sku": "latte", "quantity": 99, "size": "S"}), DOUBT),  # a doubt, but none to ask about
        (draft({"sku": "latte", "quantity": 99}), DOUBT),  # one to ask about, and one more
    ],
)
def test_nothing_is_asked_where_it_would_not_settle_the_order(
    of: CartDraft, reasons: tuple[ReviewReason, ...]
) -> None:
    assert asked(of, reasons) is None


def test_a_cart_in_doubt_is_asked_about_as_a_whole_once_its_choices_are_made() -> None:
    made = decide(draft({"sku": "latte"}), TEXT, MENU, ModelAnswer(probability=0.8), POLICY)
    at = order(draft({"sku": "latte"}))
    at = replace(at, findings=made.findings, answer=ModelAnswer(probability=0.8))
    outcome = given(at, "0/size", "L")
    asks = open_question(outcome.findings or (), outcome.reasons or ())
    assert asks is not None
    assert (outcome.event, asks.id) == (Event.CHOSEN, "order/right")
    assert asks.text == "Is this your order: 1 × large latte, $5.00 total?"


def test_many_answers_are_asked_for_without_naming_them() -> None:
    sauces = [{"id": f"s{n}", "name": f"sauce {n}", "price": n} for n in range(MAX_ANSWERS + 1)]
    menu = Menu.parse(
        {
            "id": "sauces", "name": "Sauces", "currency": "USD", "language": "en",
            "option_groups": [{"id": "sauce", "name": "sauce", "required": True, "options": sauces}],
            "items": [{"sku": "wings", "name": "wings", "price": 500, "option_groups": ["sauce"]}],
        }
    )  # fmt: skip
    question = open_question(check_facts(draft({"sku": "wings"}), menu), DOUBT)
    assert question is not None
    assert question.text == "Which sauce would you like with your wings?"
    assert [choice.price for choice in question.answers] == list(range(500, 500 + MAX_ANSWERS + 1))


def test_an_answered_choice_takes_the_place_of_a_refused_one() -> None:
    none = {"group": "sauce", "id": "ranch", "amount": "none"}
    of = draft({"sku": "nuggets", "size": "P10", "options": [none]})
    outcome = given(order(of), "0/options/sauce", "ranch")
    assert outcome.cart is not None
    assert [(option.id, option.amount) for option in outcome.cart.lines[0].options] == [("ranch", "normal")]


def test_only_the_open_question_takes_only_its_own_answers() -> None:
    open_one = order(draft({"sku": "iced-latte"}))
    with pytest.raises(InvalidCart):
        given(open_one, "0/size", "M")
    for question, state in (("1/size", State.IN_REVIEW), ("0/size", State.COMPLETED)):
        with pytest.raises(Conflict):
            given(replace(open_one, state=state), question, "S")


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("0/quantity", "2"),
        ("9/size", "S"),
        ("whose/size", "S"),
        ("0/size/of-what", "S"),
        ("0/", "S"),
        ("later", "S"),
        ("order/when", "yes"),
        ("order/right", "third"),
    ],
)
def test_what_a_later_release_asked_is_no_question_of_this_one(question: str, answer: str) -> None:
    choices = (Choice(id=answer, text="it"), Choice(id="no", text="No"))
    asks = Finding.blocking("reading_unsure", "?", question=Question(id=question, text="?", answers=choices))
    of = replace(order(draft({"sku": "latte", "size": "S"})), findings=(asks,))
    with pytest.raises(Conflict, match="doesn't know"):
        given(of, question, answer)
