"""Spoken orders that the rules leave open, some of it hard to hear: borne out, asked, or looked at."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from infra.blobs.folder import BlobFolder
from infra.sql.database import Database
from schemas.cart import Severity
from schemas.decision import SecondTranscript
from schemas.errors import DecodeCancelled, EngineUnavailable
from schemas.evidence import Evidence
from schemas.lifecycle import Event, State
from schemas.question import CustomerAnswer
from schemas.records.orders import OrderRecord, Outcome
from schemas.review import ReviewReason
from schemas.transcript import Transcript
from services.checks.questions import open_question
from services.engines.ports import Reading
from services.pipeline.review import settle_by_answer
from services.pipeline.stages import validate
from tests.integration.engines.test_two_readers import OTHER, SAME, reading
from tests.stand_ins import AGREEMENT, AWAY, CAFE, ScriptedDecoder, ScriptedTranscriber, Works, speech

BASE = "faster-whisper-base/int8/beam5-t0-vad/en"
OPEN = "how big is the large, okay then a large latte with oat milk and a blueberry muffin"
PLAIN = "a large latte with oat milk and a blueberry muffin"
TALL = f"{PLAIN} for the tall fellow"
TALLER = TALL.replace("muffin", "muffin then")
OTHERWISE = "how big's the large? Then I'd have a large latte with oat milk and one blueberry muffin"


@dataclass
class Readers(ScriptedDecoder):
    """The learned reader: another answer for each wording, and those it was asked about."""

    answers: dict[str, Reading | Exception] = field(default_factory=dict)
    read_of: list[str] = field(default_factory=list)

    def decode(self, evidence: Evidence, *_called_off: object, **_how: object) -> Reading:
        self.read_of.append(evidence.transcript)
        answer = self.answers[evidence.transcript]
        if isinstance(answer, Exception):
            raise answer
        return answer


def unsure(text: str = OPEN, confidence: float = 0.85) -> Transcript:
    return speech(text, 0.8, confidence).model_copy(update={"source": BASE})


@pytest.fixture
def world(database: Database, tmp_path: Path) -> Works:
    made = Works(database, BlobFolder(tmp_path / "blobs"))
    made.transcriber = ScriptedTranscriber([unsure()])
    made.decoder = Readers([AWAY], answers={OPEN: reading(SAME, 0.995), OTHERWISE: reading(SAME, 0.995)})
    return made


def settled(world: Works, witness: str | None) -> OrderRecord:
    world.second = ScriptedTranscriber([speech(witness)]) if witness is not None else None
    return world.until_settled(world.spoken())


def blocking(order: OrderRecord) -> set[str]:
    return {found.code for found in order.findings if found.severity is Severity.BLOCKING}


def answers(world: Works) -> dict[str, Reading | Exception]:
    """What the learned reader makes of each wording."""
    assert isinstance(world.decoder, Readers)
    return world.decoder.answers


def asked_of(world: Works) -> list[str]:
    assert isinstance(world.decoder, Readers)
    return world.decoder.read_of


def test_an_open_order_that_nobody_bears_out_is_in_doubt(world: Works) -> None:
    order = settled(world, None)
    assert (order.state, blocking(order)) == (State.IN_REVIEW, {"field_doubtful"})


def test_the_same_words_by_two_recognisers_need_no_second_reading(world: Works) -> None:
    order = settled(world, OPEN.upper().replace(",", " –"))
    assert order.state is State.COMPLETED
    assert order.transcript is not None
    assert (order.transcript.agreed, order.transcript.confidence) == (True, 0.85)
    assert asked_of(world) == [OPEN]
    assert order.cart is not None
    assert min(line.confidence or 0 for line in order.cart.lines) == AGREEMENT


def test_other_words_that_both_readers_take_for_the_same_cart_bear_it_out(world: Works) -> None:
    order = settled(world, OTHERWISE)
    assert order.state is State.COMPLETED
    assert second_of(order) is SecondTranscript.SAME_CART
    assert asked_of(world) == [OPEN, OTHERWISE]
    assert order.transcript is not None
    assert not order.transcript.agreed
    assert order.cart is not None
    assert min(line.confidence or 0 for line in order.cart.lines) == AGREEMENT


@pytest.mark.parametrize(
    "theirs",
    [reading(OTHER, 0.995), reading(SAME, 0.4), reading("nothing", 0.999), EngineUnavailable("away")],
    ids=["another cart", "not sure of it", "nothing at all", "no answer"],
)
def test_other_words_that_come_to_anything_else_leave_the_doubt(
    world: Works, theirs: Reading | Exception
) -> None:
    answers(world)[OTHERWISE] = theirs
    order = settled(world, OTHERWISE)
    assert (order.state, blocking(order)) == (State.IN_REVIEW, {"field_doubtful"})
    assert second_of(order) is SecondTranscript.UNUSED


def test_an_item_that_only_one_of_them_heard_is_not_borne_out_though_readers_mend_it(world: Works) -> None:
    """Either is read as a latte, but they did not hear the same: it may have been something else."""
    mended = OTHERWISE.replace("latte", "latta")
    answers(world)[mended] = reading(SAME, 0.995)
    order = settled(world, mended)
    assert (order.state, blocking(order)) == (State.IN_REVIEW, {"field_doubtful"})


@pytest.mark.parametrize("witness", [OPEN, OTHERWISE])
def test_a_recording_heard_badly_as_a_whole_is_looked_at_whoever_agrees(world: Works, witness: str) -> None:
    world.transcriber = ScriptedTranscriber([unsure(confidence=0.7)])
    order = settled(world, witness)
    assert order.state is State.IN_REVIEW
    assert ReviewReason.LOW_ASR_CONFIDENCE in order.reasons
    assert question_of(order) is None
    assert asked_of(world) == [OPEN]


def test_a_pair_that_was_not_measured_bears_nothing_out(
    world: Works, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.stand_ins.AGREEMENT", None)
    for witness in (OPEN, OTHERWISE):
        order = settled(world, witness)
        assert (order.state, blocking(order)) == (State.IN_REVIEW, {"field_doubtful"})
        assert order.transcript is not None
        assert order.transcript.witness == witness


def test_a_reading_that_is_called_off_is_no_answer(world: Works) -> None:
    answers(world)[OTHERWISE] = DecodeCancelled("the order is another worker's")
    order_id = world.spoken()
    world.second = ScriptedTranscriber([speech(OTHERWISE)])
    runner = world.runner()
    runner.run(order_id, "transcribe")
    runner.run(order_id, "decode")
    assert world.orders.get(order_id).state is State.TRANSCRIBED


@pytest.mark.parametrize(
    ("given", "event", "total"), [("yes", Event.ANSWERED, 910), ("no", Event.DECLINED, None)]
)
def test_what_was_hard_to_hear_is_put_to_the_customer(
    world: Works, given: str, event: Event, total: int | None
) -> None:
    order = settled(world, None)
    question = open_question(order.findings, order.reasons)
    assert question is not None
    assert question.id == "order/heard"
    assert question.text.startswith("Is this your order: 1 × large latte (oat milk); 1 × blueberry muffin")
    outcome = settle_by_answer(
        order, CustomerAnswer(question=question.id, answer=given), world.menus.get("trap-cafe", 1)
    )
    assert outcome.event is event
    assert (outcome.cart.total if outcome.cart else None) == total
    if event is Event.DECLINED:
        assert open_question(outcome.findings or (), order.reasons) is None


@pytest.fixture
def doubted(world: Works) -> Works:
    """The learned reader alone makes an order of what was heard, and is not sure of it."""
    world.transcriber = ScriptedTranscriber([unsure(TALL)])
    answers(world).update({TALL: reading(SAME, 0.7), TALLER: reading(SAME, 0.995)})
    return world


def second_of(order: OrderRecord) -> SecondTranscript | None:
    return order.readings.second_transcript if order.readings is not None else None


def question_of(order: OrderRecord | Outcome) -> str | None:
    question = open_question(order.findings or (), order.reasons or ())
    return question.id if question is not None else None


def test_words_and_hearing_in_doubt_at_once_are_for_a_human(doubted: Works) -> None:
    order = settled(doubted, None)
    assert {"field_doubtful", "reading_unsure"} <= blocking(order)
    assert question_of(order) is None


@pytest.mark.parametrize("probability", [0.995, 0.3])
def test_what_is_read_of_either_hearing_is_put_to_the_customer(doubted: Works, probability: float) -> None:
    """It is the customer who says whether it is right, not the second reading."""
    answers(doubted)[TALLER] = reading(SAME, probability)
    order = settled(doubted, TALLER)
    assert order.state is State.IN_REVIEW
    assert "field_doubtful" not in blocking(order)
    assert question_of(order) == "order/right"
    assert second_of(order) is SecondTranscript.SAME_QUESTION
    assert order.cart is not None
    assert min(line.confidence or 0 for line in order.cart.lines) < AGREEMENT  # shown as unsure as it was


def test_either_cart_of_the_question_may_be_what_the_other_hearing_is_read_as(world: Works) -> None:
    world.transcriber = ScriptedTranscriber([unsure(PLAIN)])
    answers(world).update({PLAIN: reading(OTHER, 0.7), OTHERWISE: reading(SAME, 0.995)})
    order = settled(world, OTHERWISE)
    assert blocking(order) == {"readers_differ"}
    assert question_of(order) == "order/which"


def test_a_second_hearing_with_the_menus_words_may_be_asked_about_as_well(doubted: Works) -> None:
    again = unsure(TALL).model_copy(update={"first_heard": "a large lottie"})
    order = doubted.until_settled(doubted.spoken())
    assert order.readings is not None
    for second, asked in ((SecondTranscript.SAME_QUESTION, "order/right"), (SecondTranscript.UNUSED, None)):
        readings = order.readings.model_copy(update={"second_transcript": second})
        outcome = validate(replace(order, transcript=again, readings=readings), doubted.runner().tools)
        assert question_of(outcome) == asked


@pytest.mark.parametrize(
    "theirs",
    [reading(OTHER, 0.995), reading("nothing", 0.999), EngineUnavailable("away")],
    ids=["another cart", "nothing at all", "no answer"],
)
def test_what_the_other_hearing_is_not_read_as_is_for_a_human(
    doubted: Works, theirs: Reading | Exception
) -> None:
    answers(doubted)[TALLER] = theirs
    order = settled(doubted, TALLER)
    assert {"field_doubtful", "reading_unsure"} <= blocking(order)
    assert question_of(order) is None


@pytest.mark.parametrize(
    ("answer", "confidence"),
    [
        (reading(SAME, 0.4), 0.85),
        (reading(f"{SAME}; 1 ?", 0.7), 0.85),
        (reading(SAME.partition(";")[0], 0.7), 0.85),
        (reading(SAME, 0.7), 0.7),
    ],
    ids=["too unlikely to be shown", "a wish off the menu", "a muffin left out", "badly heard as a whole"],
)
def test_nothing_is_read_that_no_customer_could_be_asked_about(
    doubted: Works, answer: Reading, confidence: float
) -> None:
    doubted.transcriber = ScriptedTranscriber([unsure(TALL, confidence)])
    answers(doubted)[TALL] = answer
    order = settled(doubted, TALLER)
    assert question_of(order) is None
    assert asked_of(doubted) == [TALL]


def test_the_cafe_has_this_open() -> None:
    """Else nothing above is about what it says."""
    from services.checks.one_cart import undoubted_cart
    from services.reading.order import read_order

    assert undoubted_cart(read_order(OPEN, CAFE, 1)) is None
