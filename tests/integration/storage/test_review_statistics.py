"""Review statistics."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import select

from infra.sql.database import Database
from services.storage import statistics
from services.storage.base.tables import ReviewRecordRow, ReviewRow
from services.storage.statistics import decided
from tests.integration.api.test_corrections import LATTE, MUFFIN, settled
from tests.stand_ins import Pipeline


def test_decisions_of_the_last_days_are_counted(database: Database, pipeline: Pipeline) -> None:
    for action, who, days_ago, waited_s in (("correct", "ann", 0, 300), ("reject", "bob", 2, 500)):
        order_id = settled(pipeline, action, None if action == "reject" else [LATTE, MUFFIN], spoken=False)
        with database.write() as session:
            at = database.now(session) - timedelta(days=days_ago)
            review = session.scalars(select(ReviewRow).where(ReviewRow.order_id == order_id)).one()
            review.created_at = at - timedelta(seconds=waited_s)
            for act in session.scalars(select(ReviewRecordRow).where(ReviewRecordRow.review_id == review.id)):
                act.actor, act.at = who, at
    found = decided(database, "main", 3)
    assert (found.actions, found.people) == ({"correct": 1, "reject": 1}, {"ann": 1, "bob": 1})
    assert (found.wait_s, found.agreement) == (400, 0)
    assert found.changes.total() > 0
    assert decided(database, "main", 1).actions.total() == 1
    nothing = decided(database, "another shop", 3)
    assert (nothing.actions.total(), nothing.wait_s, nothing.agreement) == (0, None, None)


def test_carts_of_the_newest_corrections_are_compared(
    database: Database, pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    settled(pipeline, "correct", [LATTE, MUFFIN], spoken=False)
    settled(pipeline, "correct", [LATTE], spoken=False)
    monkeypatch.setattr(statistics, "MOST_CORRECTED", 1)
    found = decided(database, "main", 1)
    assert found.actions["correct"] == 2
    # Without the customer's words: counts can't be erased.
    assert found.changes == {"something that is not on the menu → latte": 1, "blueberry muffin taken off": 1}
