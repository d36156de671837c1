"""The question that tells two readings apart: what is asked, where, and what an answer makes of the order."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from schemas.cart import Finding, Severity
from schemas.compare import canonical_draft
from schemas.decision import Agreement, Readings
from schemas.errors import InvalidCart
from schemas.lifecycle import Event
from schemas.question import CustomerAnswer, Question
from schemas.records.menus import MenuVersion
from schemas.records.orders import OrderRecord
from schemas.review import ReviewReason
from schemas.transcript import Transcript
from services.checks.heard_words import with_heard
from services.checks.questions import open_question
from services.checks.two_carts import ASK, question_about, which_cart, with_question
from services.checks.two_readers import findings_of
from services.decoding.short_form import Names
from services.pipeline.review import settle_by_answer
from services.reading.order import read_order
from tests.stand_ins import CAFE, in_review

SAID = "something with oats"
NAMES = Names(CAFE)
DOUBT = (ReviewReason.BLOCKING_FINDING,)
MENU = MenuVersion("main", CAFE, 4, "digest", datetime(2026, 1, 1, tzinfo=UTC))
LATTE, OAT, SOY = "1 small | latte", "1 small | latte + oat milk", "1 small | latte + soy milk"


def cart(text: str) -> Any:
    return with_heard(NAMES.read(text), read_order(SAID, CAFE, 4))


def told(other: str | None, agreement: Agreement = Agreement.DIFFER, probability: float = 0.8) -> Readings:
    drafted = cart(other) if other else None
    return Readings(agreement=agreement, answer="…", probability=probability, other=drafted)


def asked(one: str, read: Readings, *also: Finding, most: float = 50_000) -> Question | None:
    """What the order asks whose readers came to `one` and to what is told; `also` is in doubt besides."""
    question = question_about(read, cart(one), also, CAFE, most=most)
    return open_question([*also, *findings_of(read, CAFE, question)], DOUBT)


@pytest.mark.parametrize(
    ("one", "other", "text", "answers"),
    [
        (OAT, SOY, "Oat milk or soy milk with 1 × small latte?", ["Oat milk", "Soy milk"]),
        (OAT, LATTE, "1 × small latte: with oat milk or without?", ["With oat milk", "Without"]),
        (
            LATTE, f"{LATTE} + no foam",
            "1 × small latte: as it comes or no foam?", ["As it comes", "No foam"],
        ),
        (
            f"{LATTE} + light foam", f"{LATTE} + extra foam",
            "Light foam or extra foam with 1 × small latte?", ["Light foam", "Extra foam"],
        ),
        (OAT, "1 large | latte + oat milk", "Small or large for 1 × latte (oat milk)?", ["Small", "Large"]),
        (
            "1 blueberry muffin", "2 blueberry muffin",
            "1 or 2 × blueberry muffin?", ["1 × blueberry muffin", "2 × blueberry muffin"],
        ),
        (
            "1 mocha; 1 kids meal", "1 kids meal; 1 iced mocha",
            "1 × mocha, or 1 × iced mocha?", ["1 × mocha", "1 × iced mocha"],
        ),
        (
            LATTE, f"{LATTE}; 1 mocha",
            "Did you also want 1 × mocha?", ["Without", "With 1 × mocha"],
        ),
        (
            "2 mocha", "1 mocha; 1 kids meal", "Which one is your order?",
            ["2 × mocha, $9.60 total", "1 × mocha; 1 × kids meal, $11.80 total"],
        ),
    ],
)  # fmt: skip
def test_two_carts_are_told_apart_by_where_they_differ(
    one: str, other: str, text: str, answers: list[str]
) -> None:
    question = which_cart(cart(one), cart(other), CAFE, (960, 1180))
    assert question is not None
    assert question.text == text
    assert [answer.text for answer in question.answers] == [*answers, "Neither"]
    assert [answer.id for answer in question.answers] == ["first", "second", "neither"]


def test_carts_that_are_called_alike_ask_nothing() -> None:
    assert which_cart(cart(LATTE), cart(LATTE), CAFE, (400, 400)) is None


def test_one_cart_alone_is_confirmed_with_the_words_that_it_leaves_out() -> None:
    lost = Finding.blocking("unexplained_words", "We didn't catch “oats”.")
    question = asked(OAT, told(None, Agreement.UNSURE), lost)
    assert question is not None
    assert question.text == (
        "We didn't catch “oats”. Is this your order: 1 × small latte (oat milk), $4.60 total?"
    )
    assert [answer.id for answer in question.answers] == ["yes", "no"]


HARD = Finding.blocking("field_doubtful", "Did you say “latte”? It was hard to hear.", 0)


@pytest.mark.parametrize("agreement", [Agreement.AGREED, Agreement.CONFIDENT])
def test_what_alone_was_hard_to_hear_is_asked_of_the_customer(agreement: Agreement) -> None:
    read = told(None, agreement, 0.995)
    again = Finding.blocking("heard_again", "Did you say “a latte”? At first it sounded like “ladder”.")
    little = Finding.info("heard_again", "At first this sounded like “a ladder”.")
    for found in ((HARD,), (again,), (little, HARD, again)):
        question = question_about(read, cart(OAT), found, CAFE, most=50_000)
        assert question is not None
        assert (question.id, question.whole) == ("order/heard", True)
        assert question.text == "Is this your order: 1 × small latte (oat milk), $4.60 total?"
        findings = with_question(read, cart(OAT), found, CAFE, question)
        assert [f.question for f in findings].count(question) == 1
        assert all(f.question is None for f in findings if f.severity is Severity.INFO)
        assert open_question(findings, DOUBT) == question
        assert open_question(findings, (ReviewReason.LOW_ASR_CONFIDENCE, *DOUBT)) is None


@pytest.mark.parametrize(
    ("one", "also", "most"),
    [
        (OAT, (HARD, Finding.blocking("asked_about", "?")), 50_000),
        (OAT, (HARD, Finding.blocking("left_open", "?")), 50_000),
        (f"{OAT}; 1 ?", (HARD,), 50_000),
        ("1 latte", (HARD,), 50_000),  # no size was said
        (OAT, (HARD,), 459),  # dearer than a customer alone may settle
        (OAT, (Finding.info("heard_again", "?"),), 50_000),
        (OAT, (), 50_000),
    ],
)
def test_what_was_hard_to_hear_beside_anything_else_is_for_a_human(
    one: str, also: tuple[Finding, ...], most: int
) -> None:
    assert question_about(told(None, Agreement.AGREED), cart(one), also, CAFE, most=most) is None


def test_a_cart_that_cannot_be_made_is_not_offered_and_the_other_is_confirmed() -> None:
    for other in ("1 latte", "1 truffle tart", "13 latte"):
        question = asked(OAT, told(other))
        assert question is not None
        assert question.id == "order/right"


@pytest.mark.parametrize(
    ("one", "read", "also", "most"),
    [
        (OAT, told(None, Agreement.UNSURE, ASK - 0.01), (), 50_000),  # likelier wrong than right
        (OAT, told(SOY, Agreement.UNSURE, ASK - 0.01), (), 50_000),
        (OAT, told(f"{OAT}; 1 ?"), (), 50_000),  # one reader saw a wish off the menu
        (f"{OAT}; 1 ?", told(None, Agreement.UNSURE), (), 50_000),
        ("1 latte", told(OAT), (), 50_000),  # no size was said
        (OAT, told(SOY), (), 459),  # dearer than a customer alone may settle
        (OAT, told(SOY), (Finding.blocking("asked_about", "?"),), 50_000),
        (OAT, told(SOY), (Finding.blocking("field_doubtful", "?"),), 50_000),
        (OAT, told(SOY), (Finding.blocking("too_many_lines", "?"),), 50_000),
        (OAT, told(None, Agreement.CONFIDENT), (), 50_000),
    ],
)
def test_what_only_a_human_can_settle_is_not_asked(
    one: str, read: Readings, also: tuple[Finding, ...], most: int
) -> None:
    assert asked(one, read, *also, most=most) is None


def test_words_that_were_hard_to_hear_are_never_settled_by_a_yes() -> None:
    read = told(SOY)
    question = question_about(read, cart(OAT), (), CAFE, most=9_999)
    findings = findings_of(read, CAFE, question)
    assert open_question(findings, DOUBT) == question
    assert open_question(findings, (*DOUBT, ReviewReason.LOW_ASR_CONFIDENCE)) is None


def order(one: str, read: Readings) -> OrderRecord:
    transcript = Transcript(text=SAID, confidence=1.0)
    question = question_about(read, cart(one), (), CAFE, most=50_000)
    findings = tuple(findings_of(read, CAFE, question))
    return replace(
        in_review(cart(one)),
        transcript=transcript,
        findings=findings,
        reasons=DOUBT,
        readings=read,
    )


@pytest.mark.parametrize(("answer", "text"), [("first", OAT), ("second", SOY)])
def test_an_answer_completes_with_the_cart_that_it_picks_at_the_menus_price(answer: str, text: str) -> None:
    outcome = settle_by_answer(
        order(OAT, told(SOY)), CustomerAnswer(question="order/which", answer=answer), MENU
    )
    assert outcome.event is Event.ANSWERED
    assert canonical_draft(outcome.draft) == canonical_draft(cart(text))
    assert outcome.cart is not None
    assert outcome.cart.total == {OAT: 460, SOY: 450}[text]
    assert outcome.detail["asked"] == "Oat milk or soy milk with 1 × small latte?"
    assert outcome.detail["chosen"] == {OAT: "Oat milk", SOY: "Soy milk"}[text]


@pytest.mark.parametrize(
    ("read", "question", "answer"),
    [
        (told(SOY), "order/which", "neither"),
        (told(None, Agreement.UNSURE), "order/right", "no"),
    ],
)
def test_neither_leaves_it_to_a_human_who_sees_what_was_asked(
    read: Readings, question: str, answer: str
) -> None:
    outcome = settle_by_answer(order(OAT, read), CustomerAnswer(question=question, answer=answer), MENU)
    assert outcome.event is Event.DECLINED
    assert outcome.cart is None
    assert outcome.findings is not None
    assert open_question(outcome.findings, DOUBT) is None
    last = outcome.findings[-1]
    assert last.code == "reading_declined"
    assert "latte" in (last.detail or "")
    assert all(finding.severity == "blocking" for finding in outcome.findings)


def test_nothing_ordered_is_confirmed_and_taken_back_or_goes_to_a_human() -> None:
    read = told(None, Agreement.CONFIDENT, 0.99)
    empty = Finding.blocking("empty_cart", "We couldn't make out an order.")
    question = asked("nothing", read, empty)
    assert question is not None
    assert question.id == "order/nothing"
    assert asked("nothing", told(None, Agreement.UNSURE), empty) is None
    waiting = order("nothing", read)
    taken_back = settle_by_answer(waiting, CustomerAnswer(question=question.id, answer="yes"), MENU)
    assert (taken_back.event, taken_back.findings) == (Event.CANCELLED, ())
    wanted = settle_by_answer(waiting, CustomerAnswer(question=question.id, answer="no"), MENU)
    assert wanted.event is Event.DECLINED


def test_only_its_own_answers_are_taken() -> None:
    with pytest.raises(InvalidCart):
        settle_by_answer(order(OAT, told(SOY)), CustomerAnswer(question="order/which", answer="yes"), MENU)


def test_a_human_is_shown_both_readings() -> None:
    (finding,) = findings_of(told(SOY), CAFE)
    assert "1 × small latte (soy milk)" in (finding.detail or "")


THREE = f"{LATTE}; 1 mocha; 1 iced mocha"


@pytest.mark.parametrize(
    ("one", "other", "agreement", "message"),
    [
        (f"{OAT}; 1 mocha", f"{SOY}; 1 mocha", Agreement.DIFFER,
         "Did you mean “1 × small latte (oat milk)”? We could take it two ways."),
        (f"{OAT}; 2 mocha", f"{SOY}; 1 mocha", Agreement.UNSURE,
         "Did you mean “1 × small latte (oat milk)” and “2 × mocha”? "
         "We're not sure we got it."),
        (OAT, f"{OAT}; 1 mocha", Agreement.DIFFER, "Did you also want 1 × mocha?"),
        (THREE, "1 blueberry muffin", Agreement.DIFFER,
         "Is this your order? We could take it two ways."),
        (OAT, None, Agreement.UNSURE,
         "Is this your order? We're not sure we got all of it."),
    ],
    ids=["one line", "two lines", "a line more", "all else", "one cart alone"],
)  # fmt: skip
def test_a_doubt_between_two_readings_quotes_what_it_is_about(
    one: str, other: str | None, agreement: Agreement, message: str
) -> None:
    (finding,) = with_question(told(other, agreement, 0.1), cart(one), (), CAFE, None)
    assert finding.message == message


@pytest.mark.parametrize(("language", "asks"), [("en", True), ("es", False)])
def test_nobody_is_asked_in_a_language_that_was_not_measured(language: str, asks: bool) -> None:
    menu = CAFE.model_copy(update={"language": language})
    assert (question_about(told(SOY), cart(OAT), (), menu, most=50_000) is not None) is asks
