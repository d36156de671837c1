"""The decision as a value: its verdict, question, doubts and basis, for drafts of one café order."""

from __future__ import annotations

import pytest

from schemas.cart import CartDraft
from schemas.decision import Agreement, Policy, Readings, SecondTranscript, Verdict
from schemas.review import ReviewReason
from schemas.transcript import Transcript
from services.checks.decide import Decided, decide
from services.checks.heard_words import with_heard
from services.decoding.short_form import Names
from services.reading.order import read_order
from tests.stand_ins import CAFE

NAMES = Names(CAFE)
SAID = "a small latte with oat milk"
POLICY = Policy(asr_threshold=0.72, field_threshold=0.9, max_total=50_000, max_total_asked=50_000)
OAT, SOY = "1 small | latte + oat milk", "1 small | latte + soy milk"


def draft(text: str, said: str = SAID) -> CartDraft:
    return with_heard(NAMES.read(text), read_order(said, CAFE, 4))


def decided(
    text: str, readings: Readings | None, said: str = SAID, confidence: float = 1.0, policy: Policy = POLICY
) -> Decided:
    transcript = Transcript(text=said, confidence=confidence)
    return decide(draft(text, said), transcript, read_order(said, CAFE, 4), readings, policy)


AGREED = Readings(agreement=Agreement.AGREED, answer=OAT, probability=0.99)
DIFFER = Readings(agreement=Agreement.DIFFER, answer=OAT, probability=0.99, other=draft(SOY))
UNSURE = Readings(agreement=Agreement.UNSURE, answer=OAT, probability=0.7)
UNLIKELY = Readings(agreement=Agreement.UNSURE, answer=OAT, probability=0.3)
LOW = ReviewReason.LOW_ASR_CONFIDENCE


@pytest.mark.parametrize(
    ("readings", "verdict", "question", "doubts"),
    [
        (None, Verdict.ACCEPTED, None, []),
        (AGREED, Verdict.ACCEPTED, None, []),
        (DIFFER, Verdict.ASKS, "order/which", ["readers_differ"]),
        (UNSURE, Verdict.ASKS, "order/right", ["reading_unsure"]),
        (UNLIKELY, Verdict.NEEDS_REVIEW, None, ["reading_unsure"]),
    ],
)
def test_what_two_readings_come_to_decides(
    readings: Readings | None, verdict: Verdict, question: str | None, doubts: list[str]
) -> None:
    decision = decided(OAT, readings).decision
    assert decision.verdict is verdict
    assert (decision.question.id if decision.question else None) == question
    assert [doubt.code for doubt in decision.doubts] == doubts


def test_a_recording_below_the_threshold_needs_a_person_whatever_was_read() -> None:
    decision = decided(OAT, AGREED, confidence=0.71).decision
    assert (decision.verdict, decision.question) == (Verdict.NEEDS_REVIEW, None)
    assert decision.reasons == (LOW,)


def test_a_missing_size_is_asked() -> None:
    decision = decided("1 latte", None, said="a latte").decision
    assert decision.verdict is Verdict.ASKS
    assert decision.question is not None
    assert decision.question.id == "0/size"


def test_a_total_over_the_limit_needs_a_person() -> None:
    decision = decided(OAT, AGREED, policy=POLICY.model_copy(update={"max_total": 100})).decision
    assert decision.verdict is Verdict.NEEDS_REVIEW
    assert [doubt.code for doubt in decision.doubts] == ["total_over_limit"]


def test_a_decision_tells_what_it_rests_on() -> None:
    readings = AGREED.model_copy(update={"second_transcript": SecondTranscript.SAME_CART})
    basis = decided(OAT, readings, confidence=0.8).decision.basis
    assert (basis.transcript_confidence, basis.cart_probability) == (0.8, 0.99)
    assert (basis.agreement, basis.second_transcript) == (Agreement.AGREED, SecondTranscript.SAME_CART)
    assert decided(OAT, None).decision.basis.cart_probability is None
