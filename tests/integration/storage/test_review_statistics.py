"""Statistics of reviews, counted in SQL."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import select

from infra.blobs.folder import BlobFolder
from infra.sql.database import Database
from services.storage.base.tables import ReviewRecordRow, ReviewRow
from services.storage.reviews import statistics
from services.storage.reviews.statistics import decided
from tests.integration.api.test_corrections import LATTE, MUFFIN, settled
from tests.stand_ins import Works

MINUTE = timedelta(minutes=1)


def test_decisions_are_counted_by_hour_person_and_time(database: Database, tmp_path: Path) -> None:
    works = Works(database, BlobFolder(tmp_path))
    with database.read() as session:
        this_hour = database.now(session).replace(minute=0, second=0, microsecond=0)
    cases = [("correct", "ann", 0, 5, 2), ("reject", "bob", 1, 7, 3), ("correct", "ann", 30, 9, 4)]
    for action, who, hours_ago, waited, worked in cases:
        order_id = settled(works, action, None if action == "reject" else [LATTE, MUFFIN], spoken=False)
        at = this_hour - hours_ago * 60 * MINUTE
        with database.write() as session:
            review = session.scalars(select(ReviewRow).where(ReviewRow.order_id == order_id)).one()
            review.created_at = at - waited * MINUTE
            for act in session.scalars(select(ReviewRecordRow).where(ReviewRecordRow.review_id == review.id)):
                act.actor = who
                act.at = at if act.action == "decided" else at - worked * MINUTE
    found = decided(database, "main", 24)
    assert found.by_hour == {this_hour: 1, this_hour - 60 * MINUTE: 1}
    assert (found.actions, found.people) == ({"correct": 1, "reject": 1}, {"ann": 1, "bob": 1})
    assert (found.waits_s, found.works_s) == ({300: 1, 420: 1}, {120: 1, 180: 1})
    assert found.changes.total() > 0
    assert decided(database, "main", 1).actions.total() == 1
    assert decided(database, "main", 31).actions.total() == 3
    assert decided(database, "another shop", 24).actions.total() == 0


def test_carts_of_the_newest_corrections_are_compared(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    works = Works(database, BlobFolder(tmp_path))
    settled(works, "correct", [LATTE, MUFFIN], spoken=False)
    settled(works, "correct", [LATTE], spoken=False)
    monkeypatch.setattr(statistics, "MOST_CORRECTIONS", 1)
    found = decided(database, "main", 24)
    assert found.actions["correct"] == 2
    assert found.changes["blueberry muffin taken off"] == 1
    assert found.changes.total() == 2
