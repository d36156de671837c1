"""An order whose customer speaks of an allergy is never completed by a machine alone."""

from __future__ import annotations

from pathlib import Path

from infra.blobs.folder import BlobFolder
from infra.sql.database import Database
from schemas.lifecycle import State
from schemas.review import ReviewReason
from tests.stand_ins import Works


def test_an_allergy_goes_to_review_with_its_words_first(database: Database, tmp_path: Path) -> None:
    world = Works(database, BlobFolder(tmp_path / "blobs"))
    order_id = world.typed("a large latte i have a peanut allergy")
    order = world.until_settled(order_id)
    assert order.state is State.IN_REVIEW
    assert order.findings[0].code == "allergy_said"
    assert "i have a peanut allergy" in order.findings[0].message
    assert order.reasons[0] is ReviewReason.ALLERGY_SAID
    (entry,) = world.reviews.queue(9).entries
    assert entry.allergy == order.findings[0].message
