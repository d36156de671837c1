"""The confidence of a field: from how its words were heard, by the shipped table. It only adds doubts."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from schemas.cart import CartDraft, Severity
from schemas.decision import ModelAnswer
from schemas.records.menus import MenuVersion
from schemas.records.orders import Outcome
from schemas.review import ReviewReason
from schemas.transcript import Transcript
from services.pipeline import stages
from services.pipeline.ports import Tools
from services.retrieval.names import names_of
from services.retrieval.retrieval import retrieve
from services.validation.confidence import FEATURES, features, field_confidences
from services.validation.hearing import check_fields
from tests.stand_ins import CAFE, in_review, speech

KEY = "faster-whisper-base/int8/beam5-t0-vad/en"
TEXT = "two large lattes and a blueberry muffin"
NAMES = names_of(CAFE)
DRAFT = CartDraft.model_validate(
    {
        "lines": [
            {"kind": "item", "heard": "two large lattes", "sku": "latte", "quantity": 2, "size": "L"},
            {"kind": "item", "heard": "a blueberry muffin", "sku": "muffin", "quantity": 1},
        ]
    }
)


def heard(probability: float = 0.97, **doubtful: float) -> Transcript:
    """`TEXT` as the measured recogniser gives it; some words less surely."""
    found = speech(TEXT, probability)
    words = tuple(
        w.model_copy(update={"probability": doubtful.get(w.text, w.probability)}) for w in found.words
    )
    return found.model_copy(update={"words": words, "source": KEY})


def sure(transcript: Transcript) -> list[dict[str, float]]:
    return field_confidences(DRAFT, retrieve(transcript.text, NAMES), transcript)


def test_every_field_of_every_line_has_one() -> None:
    latte, muffin = sure(heard())
    assert list(latte) == ["sku", "quantity", "size", "heard"]
    assert list(muffin) == ["sku", "quantity", "heard"]
    assert all(0 < value < 1 for value in (*latte.values(), *muffin.values()))


def test_words_that_were_heard_worse_are_never_surer() -> None:
    for good, bad in zip(sure(heard(0.97)), sure(heard(0.97, large=0.1, two=0.2)), strict=True):
        assert all(bad[name] <= good[name] for name in good)
        assert bad["heard"] < good["heard"]


def test_features_are_of_the_fields_own_words() -> None:
    (latte, muffin) = features(DRAFT, retrieve(TEXT, NAMES), heard(0.9, large=0.1))
    least = {
        (at, f.name): f.values[FEATURES.index("least")]
        for at, line in enumerate((latte, muffin))
        for f in line
    }
    assert least[0, "size"] < 0 < least[0, "sku"]
    assert least[0, "heard"] == least[0, "size"]
    assert least[1, "heard"] == pytest.approx(least[0, "sku"])


@pytest.mark.parametrize(
    "transcript",
    [
        Transcript(text=TEXT, confidence=1.0),
        heard().model_copy(update={"source": "a recogniser that was never measured"}),
        heard().model_copy(update={"text": "other words"}),
    ],
    ids=["text", "no table", "words and text differ"],
)
def test_nothing_is_told_where_nothing_is_known(transcript: Transcript) -> None:
    assert sure(transcript) == [{}, {}]


def test_no_field_is_less_sure_than_an_order_that_two_recognisers_came_to() -> None:
    alone = heard(0.97, large=0.05).model_copy(update={"confidence": 0.96})
    before, after = sure(alone), sure(alone.model_copy(update={"agreed": True}))
    assert before[0]["heard"] < 0.96 < before[1]["sku"]
    for mine, ours in zip(before, after, strict=True):
        assert ours == {name: max(value, 0.96) for name, value in mine.items()}


def test_no_field_is_less_sure_than_such_agreement_was_measured_to_be_and_the_order_is_no_surer() -> None:
    alone = heard(0.97, large=0.05).model_copy(update={"confidence": 0.8, "agreement": 0.96})
    assert sure(alone) == sure(alone.model_copy(update={"agreement": None}))
    agreed = sure(alone.model_copy(update={"agreed": True}))
    assert agreed == [{name: max(value, 0.96) for name, value in line.items()} for line in sure(alone)]


def test_a_finding_names_the_field_and_the_line() -> None:
    lines = (DRAFT.lines[0], DRAFT.lines[0])
    draft = DRAFT.model_copy(update={"lines": lines})
    (worst, next_one) = check_fields([{"sku": 0.9}, {"size": 0.41, "sku": 0.5}], 0.6, draft, CAFE)
    assert (worst.detail, worst.line) == ("Line 2: 41% sure of the size", 1)
    assert next_one.detail == "Line 2: 50% sure of the item"
    assert (worst.code, worst.severity) == ("field_doubtful", Severity.BLOCKING)
    assert check_fields([{"sku": 0.6}, {}], 0.6, draft, CAFE) == []


def validated(
    transcript: Transcript,
    threshold: float,
) -> Outcome:
    """What validate makes of the draft, of which the model is certain."""
    now = datetime(2026, 1, 1, tzinfo=UTC)

    def unused(*_: object) -> None:
        raise AssertionError("not asked for here")

    tools = Tools(
        transcriber=unused,  # type: ignore[arg-type]
        decoder=unused,  # type: ignore[arg-type]
        fallback_decoder=unused,
        second_transcriber=unused,
        agreement=unused,
        menu=lambda shop, _id, version: MenuVersion(shop, CAFE, version, "", now),
        recording=unused,  # type: ignore[arg-type]
        decode_audio=unused,  # type: ignore[arg-type]
        asr_threshold=0.72,
        field_threshold=threshold,
        max_order_total=50_000,
    )
    order = replace(in_review(DRAFT), transcript=transcript, answer=ModelAnswer(probability=1.0))
    return stages.validate(order, tools)


def test_triage_asks_a_human_about_a_doubtful_field_and_about_no_other() -> None:
    transcript = heard(0.97, large=0.05)
    least = min(value for line in sure(transcript) for value in line.values())
    outcome = validated(transcript, least)
    assert outcome.reasons == ()
    assert outcome.cart is not None
    assert [line.field_confidence for line in outcome.cart.lines] == sure(transcript)
    assert [line.confidence for line in outcome.cart.lines] == [
        min(line.values()) for line in sure(transcript)
    ]
    outcome = validated(transcript, least + 0.0001)
    assert outcome.reasons == (ReviewReason.BLOCKING_FINDING,)
    assert {f.code for f in outcome.findings or () if f.severity is Severity.BLOCKING} == {"field_doubtful"}


def test_sure_fields_spare_no_other_doubt() -> None:
    low = heard().model_copy(update={"confidence": 0.5})
    assert validated(low, 0.0).reasons == (ReviewReason.LOW_ASR_CONFIDENCE,)
