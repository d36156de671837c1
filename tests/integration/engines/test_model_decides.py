"""The decision on an order, depending on the model's probability."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from schemas.decision import Trust, UnsurePiece, Verdict
from schemas.lifecycle import State
from schemas.records.orders import OrderRecord
from services.decoding import wire
from services.decoding.menu_names import Names
from services.decoding.ports import DecodedCart
from services.pipeline.stages import trust_in
from tests.stand_ins import CAFE, RIGHT, SAID, Pipeline, ScriptedDecoder

NAMES = Names(CAFE)
CART = wire.write(RIGHT.model_dump(mode="json")["lines"], NAMES)


def reading(probability: float, text: str = CART) -> DecodedCart:
    found = wire.read_cart(text, NAMES)
    return DecodedCart(tuple(found.lines), text, math.log(probability), 0, notes=found.notes)


def settled(pipeline: Pipeline, *script: DecodedCart, said: str = SAID) -> OrderRecord:
    pipeline.decoder = ScriptedDecoder(list(script))
    return pipeline.until_settled(pipeline.typed(said))


UNTRAINED, OVERRULED = replace(reading(1.0), trained=False), replace(reading(1.0), overruled=1)


@pytest.mark.parametrize(
    ("read", "trust", "verdict"),
    [
        (reading(1.0), Trust.TRUSTED, Verdict.ACCEPTED),
        (UNTRAINED, Trust.UNTRAINED, Verdict.NEEDS_REVIEW),
        (OVERRULED, Trust.OVERRULED, Verdict.NEEDS_REVIEW),
    ],
)
def test_the_models_confidence_counts_only_when_it_is_trusted(
    pipeline: Pipeline, read: DecodedCart, trust: Trust, verdict: Verdict
) -> None:
    order = settled(pipeline, read)
    assert order.answer is not None
    assert (order.answer.probability, order.answer.trust) == (1.0, trust)
    assert order.decision is not None
    assert (order.decision.verdict, order.decision.basis.cart_trust) == (verdict, trust)


@pytest.mark.parametrize(
    ("read", "corrected", "unseen", "trust"),
    [
        (UNTRAINED, True, True, Trust.UNTRAINED),
        (OVERRULED, True, True, Trust.OVERRULED),
        (reading(1.0), True, True, Trust.CORRECTED),
        (reading(1.0), False, True, Trust.UNSEEN),
    ],
)
def test_the_most_serious_reason_for_distrust_is_stored(
    read: DecodedCart, corrected: bool, unseen: bool, trust: Trust
) -> None:
    assert trust_in(read, corrected=corrected, unseen=unseen) is trust


def test_uncertain_pieces_are_stored(pipeline: Pipeline) -> None:
    pieces = (UnsurePiece(text="latte", probability=0.999),)
    order = settled(
        pipeline, replace(reading(0.6), pieces=(*pieces, UnsurePiece(text="large", probability=0.604)))
    )
    assert order.answer is not None
    assert order.answer.unsure == (UnsurePiece(text="large", probability=0.6),)


@pytest.mark.parametrize(
    ("noted", "words"),
    [
        (',"notes":[{"allergy":"walnuts burn my tongue"}]', "walnuts burn my tongue"),
        ("", "does it have nuts"),
    ],
    ids=["noted by the model", "noted by its words"],
)
def test_an_allergy_needs_review_and_is_noted_for_the_kitchen(
    pipeline: Pipeline, noted: str, words: str
) -> None:
    order = settled(pipeline, reading(0.999, CART[:-1] + noted + "}"), said=f"{SAID} {words}")
    assert order.state is State.IN_REVIEW
    assert order.cart is not None
    assert [(note.kind, note.text[-len(words) :]) for note in order.cart.notes] == [("allergy", words)]
    assert "allergy_said" in [finding.code for finding in order.findings if finding.blocks]
    assert pipeline.reviews.queue(9, "allergy").entries
