"""The decision as a value: its verdict, question, doubts and basis, for drafts of one café order."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from schemas.cart import CartDraft
from schemas.decision import (
    ACCEPT,
    ACCEPT_LITERAL,
    ASK,
    ModelAnswer,
    Policy,
    SecondTranscript,
    Trust,
    UnsurePiece,
    Verdict,
)
from schemas.lifecycle import Event
from schemas.menu import MenuVersion
from schemas.open_questions import open_question
from schemas.question import CustomerAnswer
from schemas.records.orders import OrderRecord
from schemas.review import ReviewReason
from schemas.transcript import Transcript
from services.pipeline.review import settle_by_answer
from services.validation.decide import Decided, decide
from services.validation.price import price_cart
from services.validation.whole_cart import with_instead, with_kept_items
from tests.stand_ins import CAFE, in_review
from tests.unit.validation.test_facts import draft

SAID = "a small latte with oat milk"
MENU = MenuVersion("main", CAFE, 4, "digest", datetime(2026, 1, 1, tzinfo=UTC))
POLICY = Policy(asr_threshold=0.72, max_total=50_000)


def latte(**more: Any) -> dict[str, Any]:
    return {"kind": "item", "heard": "latte", "sku": "latte", "quantity": 1, "size": "S", **more}


OAT = draft(latte(options=[{"group": "milk", "id": "oat"}]))
BICYCLE = {"kind": "not_on_menu", "heard": "a bicycle", "quantity": 1}
OFF = draft(BICYCLE, latte(options=[{"group": "milk", "id": "oat"}]))


def decided(
    of: CartDraft = OAT,
    probability: float = 1.0,
    policy: Policy = POLICY,
    menu: MenuVersion = MENU,
    **heard: Any,
) -> Decided:
    transcript = Transcript.model_validate({"text": SAID, "confidence": 1.0, **heard})
    return decide(of, transcript, menu, ModelAnswer(text="…", probability=probability), policy)


def asks(made: Decided) -> str | None:
    return made.decision.question.id if made.decision.question else None


@pytest.mark.parametrize(
    ("of", "probability", "verdict", "question", "doubts"),
    [
        (OAT, ACCEPT_LITERAL, Verdict.ACCEPTED, None, []),
        (OAT, ACCEPT_LITERAL - 0.001, Verdict.ASKS, "order/right", ["reading_unsure"]),
        (OAT, ASK, Verdict.ASKS, "order/right", ["reading_unsure"]),
        (OAT, ASK - 0.01, Verdict.NEEDS_REVIEW, None, ["reading_unsure"]),
        (draft(), ACCEPT, Verdict.ASKS, "order/nothing", ["empty_cart", "nothing_ordered"]),
        (draft(), ASK, Verdict.NEEDS_REVIEW, None, ["empty_cart", "reading_unsure"]),
        (draft(latte(size=None)), ACCEPT, Verdict.ASKS, "0/size", ["missing_size"]),
        (draft(latte(size=None)), ASK, Verdict.ASKS, "0/size", ["missing_size", "reading_unsure"]),
        (OFF, ACCEPT, Verdict.ASKS, "order/rest", ["not_on_menu"]),
        (OFF, ASK, Verdict.ASKS, "order/rest", ["not_on_menu", "reading_unsure"]),
        (OFF, ASK - 0.01, Verdict.NEEDS_REVIEW, None, ["not_on_menu", "reading_unsure"]),
        (draft(BICYCLE), ACCEPT, Verdict.NEEDS_REVIEW, None, ["not_on_menu"]),
        (draft(latte(), latte(sku="gone")), ACCEPT, Verdict.NEEDS_REVIEW, None, ["unknown_item"]),
    ],
)
def test_the_models_probability_decides(
    of: CartDraft, probability: float, verdict: Verdict, question: str | None, doubts: list[str]
) -> None:
    made = decided(of, probability)
    assert (made.decision.verdict, asks(made)) == (verdict, question)
    assert [doubt.code for doubt in made.decision.doubts] == doubts


@pytest.mark.parametrize(
    "heard",
    [
        {"confidence": 0.99},  # spoken
        {"text": "a small late with oat milk"},
        {"text": "two small lattes with oat milk"},
    ],
)
def test_a_cart_that_typed_words_do_not_say_literally_has_to_be_surer(heard: dict[str, Any]) -> None:
    made = [decided(OAT, probability, **heard).decision for probability in (ACCEPT_LITERAL, ACCEPT)]
    assert [(one.verdict, one.basis.literal) for one in made] == [
        (Verdict.ASKS, False),
        (Verdict.ACCEPTED, False),
    ]


@pytest.mark.parametrize(
    "text",
    ["a small\nlatte with oat milk", " and ".join(["a latte, a muffin"] * 7), "a latte with 20 oat milk"],
)
def test_words_that_no_cart_can_hold_literally_are_judged_too(text: str) -> None:
    assert decided(OAT, ASK, text=text).decision.verdict is Verdict.ASKS


@pytest.mark.parametrize(
    ("trust", "probability", "verdict"),
    [
        *((trust, 1.0, Verdict.ASKS) for trust in (Trust.UNSEEN, Trust.CORRECTED)),
        *((trust, ASK - 0.01, Verdict.NEEDS_REVIEW) for trust in (Trust.UNSEEN, Trust.CORRECTED)),
        *((trust, 1.0, Verdict.NEEDS_REVIEW) for trust in (Trust.OVERRULED, Trust.UNTRAINED)),
    ],
)
def test_a_probability_counts_as_far_as_it_is_trusted(
    trust: Trust, probability: float, verdict: Verdict
) -> None:
    answer = ModelAnswer(probability=probability, trust=trust)
    decision = decide(OAT, Transcript(text=SAID, confidence=1.0), MENU, answer, POLICY).decision
    assert (decision.verdict, decision.basis.cart_trust) == (verdict, trust)
    assert decision.basis.cart_probability == probability


SPANISH = replace(MENU, menu=CAFE.model_copy(update={"language": "es"}))


LOW, NOTHING = ReviewReason.LOW_ASR_CONFIDENCE, ReviewReason.NOTHING_HEARD
NOT_ON_MENU, BLOCKED = ReviewReason.NOT_ON_MENU, ReviewReason.BLOCKING_FINDING


@pytest.mark.parametrize(
    ("changed", "doubts", "reasons"),
    [
        # A recording below the threshold of 0.72, whatever was read.
        ({"confidence": 0.7199}, [], (LOW,)),
        ({"confidence": 0.71, "probability": ASK}, ["reading_unsure"], (LOW, BLOCKED)),
        ({"confidence": 0.71, "of": OFF}, ["not_on_menu"], (LOW, NOT_ON_MENU)),
        ({"text": "  "}, [], (NOTHING,)),
        ({"policy": POLICY.model_copy(update={"max_total": 100})}, ["total_over_limit"], (BLOCKED,)),
        ({"quiet": "and a muffin"}, ["heard_quietly"], (BLOCKED,)),
        # A language in which the model's confidence was not measured.
        ({"menu": SPANISH}, ["reading_unsure"], (BLOCKED,)),
    ],
)
def test_a_person_is_needed(
    changed: dict[str, Any], doubts: list[str], reasons: tuple[ReviewReason, ...]
) -> None:
    decision = decided(**changed).decision
    assert (decision.verdict, decision.reasons) == (Verdict.NEEDS_REVIEW, reasons)
    assert [doubt.code for doubt in decision.doubts] == doubts


@pytest.mark.parametrize(
    ("heard", "used", "unused"),
    [
        ({}, SecondTranscript.UNUSED, ()),
        ({"second": "a small latte with goat milk"}, SecondTranscript.SHOWN, ()),
        ({"second": "a small latte with oat milk", "agreed": True}, SecondTranscript.AGREED, ()),
        ({"text": f"{SAID}, a muffin and a zeppelin"}, SecondTranscript.UNUSED, ("muffin", "zeppelin")),
    ],
)
def test_a_decision_has_what_it_rests_on(
    heard: dict[str, Any], used: SecondTranscript, unused: tuple[str, ...]
) -> None:
    basis = decided(probability=0.993, confidence=0.8, **heard).decision.basis
    assert (basis.transcript_confidence, basis.cart_probability) == (0.8, 0.993)
    assert (basis.second_transcript, basis.unused) == (used, unused)


def test_a_reviewer_sees_what_the_model_was_least_sure_of() -> None:
    unsure = (UnsurePiece(text="oat milk", probability=0.61),)
    answer = ModelAnswer(probability=0.6, trust=Trust.CORRECTED, unsure=unsure)
    said = Transcript(text=SAID, confidence=1.0)
    made = decide(OAT, said, MENU, answer, POLICY)
    (finding,) = made.findings
    assert finding.detail == (
        "The language model is 60% sure of its cart. Least sure of: “oat milk” (61%)."
        " Its cart had to be corrected."
    )


def waiting(of: CartDraft, probability: float) -> OrderRecord:
    made = decided(of, probability)
    return replace(in_review(of), findings=made.findings, reasons=made.decision.reasons)


@pytest.mark.parametrize(
    ("of", "probability", "question", "answer", "event"),
    [
        (OAT, 0.8, "order/right", "yes", Event.ANSWERED),
        (OAT, 0.8, "order/right", "no", Event.DECLINED),
        (OFF, 0.8, "order/rest", "yes", Event.ANSWERED),
        (OFF, 0.8, "order/rest", "no", Event.DECLINED),
        (draft(), 1.0, "order/nothing", "yes", Event.CANCELLED),
        (draft(), 1.0, "order/nothing", "no", Event.DECLINED),
    ],
)
def test_a_yes_settles_a_whole_cart_and_a_no_is_a_persons(
    of: CartDraft, probability: float, question: str, answer: str, event: Event
) -> None:
    order = waiting(of, probability)
    outcome = settle_by_answer(order, CustomerAnswer(question=question, answer=answer), MENU, POLICY)
    assert outcome.event is event
    if event is Event.ANSWERED:
        assert outcome.cart is not None
        assert outcome.cart.total == 460
    if event is Event.DECLINED:
        assert outcome.findings is not None
        assert open_question(outcome.findings, order.reasons) is None
        assert outcome.findings[-1].code == "reading_declined"


@pytest.mark.parametrize(
    ("size", "offers"), [("S", ["instead/iced-latte", "no", "yes"]), ("M", ["no", "yes"])]
)
def test_an_offer_keeps_the_size_and_options_that_were_said(size: str, offers: list[str]) -> None:
    drinks = [
        item.model_copy(update={"category": "drink", "available": item.sku != "latte"})
        for item in CAFE.items
        if item.sku in ("latte", "iced-latte", "mocha")
    ]
    menu = replace(MENU, menu=CAFE.model_copy(update={"items": tuple(drinks)}))
    order = draft(latte(size=size, options=[{"group": "milk", "id": "oat"}]))
    question = decided(order, menu=menu).decision.question
    assert question is not None
    assert [answer.id for answer in question.answers] == offers
    assert ("iced latte" in question.text) == (len(offers) > 2)
    chosen = with_instead(order, offers[0], menu.menu) if len(offers) > 2 else order
    (line,) = chosen.lines
    assert (line.size, [option.id for option in line.options]) == (size, ["oat"])  # type: ignore[union-attr]
    # Said again with more, it stays what was chosen; but not with what the chosen item doesn't have.
    before = price_cart(chosen, menu.menu, 1, Transcript(text=SAID, confidence=1.0), [])
    assert with_kept_items(order, before, menu.menu) == (chosen if len(offers) > 2 else order)
    medium = draft(latte(size="M", options=[{"group": "milk", "id": "oat"}]))
    assert with_kept_items(medium, before, menu.menu) == medium
