"""What becomes of an order, by how sure the language model is of its cart."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from infra.blobs.folder import BlobFolder
from infra.sql.database import Database
from schemas.decision import UnsurePiece, Verdict
from schemas.lifecycle import State
from schemas.records.orders import OrderRecord
from services.decoding import wire
from services.decoding.menu_names import Names
from services.decoding.ports import Reading
from tests.stand_ins import CAFE, RIGHT, SAID, ScriptedDecoder, Works

NAMES = Names(CAFE)
CART = wire.write(RIGHT.model_dump(mode="json")["lines"], NAMES)


def reading(probability: float, text: str = CART) -> Reading:
    found = wire.read_cart(text, NAMES)
    return Reading(
        tuple(found.lines), text, math.log(probability), 0, "stand-in:orders", 20, 9, 18, 0.1,
        notes=found.notes,
    )  # fmt: skip


@pytest.fixture
def world(database: Database, tmp_path: Path) -> Works:
    return Works(database, BlobFolder(tmp_path / "blobs"))


def settled(world: Works, *script: Reading, said: str = SAID) -> OrderRecord:
    world.decoder = ScriptedDecoder(list(script))
    return world.until_settled(world.typed(said))


@pytest.mark.parametrize("change", [{"trained": False}, {"overruled": 1}], ids=["untrained", "overruled"])
def test_how_sure_an_untrained_or_overruled_model_is_counts_for_nothing(
    world: Works, change: dict[str, object]
) -> None:
    order = settled(world, replace(reading(1.0), **change))  # type: ignore[arg-type]
    assert order.state is State.IN_REVIEW
    assert order.answer is not None
    assert order.answer.probability == 0.0
    assert order.decision is not None
    assert order.decision.verdict is Verdict.NEEDS_REVIEW


def test_the_pieces_that_the_model_doubts_are_kept(world: Works) -> None:
    order = settled(world, replace(reading(0.6), pieces=(("latte", 0.999), ("large", 0.604))))
    assert order.answer is not None
    assert order.answer.unsure == (UnsurePiece(text="large", probability=0.6),)


def test_an_allergy_that_the_model_noted_waits_for_a_person(world: Works) -> None:
    noted = reading(0.999, CART[:-1] + ',"notes":[{"allergy":"walnuts burn my tongue"}]}')
    order = settled(world, noted, said=SAID + " walnuts burn my tongue")
    assert order.state is State.IN_REVIEW
    assert "allergy_said" in [finding.code for finding in order.findings if finding.blocks]
    (entry,) = world.reviews.queue(9).entries
    assert entry.allergy
