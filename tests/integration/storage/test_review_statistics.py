"""Statistics of reviews: counted in SQL, they equal a count in Python of what the log tells."""

from __future__ import annotations

import random
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import select

from infra.blobs.folder import BlobFolder
from infra.sql.database import Database
from schemas.corrections import corrections
from schemas.records.reviews import Decided
from services.storage.base.tables import ReviewRecordRow, ReviewRow
from services.storage.reviews import statistics
from services.storage.reviews.log import ReviewLog
from services.storage.reviews.statistics import decided
from tests.integration.api.test_corrections import LATTE, MUFFIN, settled
from tests.stand_ins import Works

HOUR = timedelta(hours=1)


def decide(works: Works, rng: random.Random) -> None:
    """One more decision, by whom and when chance wants it, up to four hours ago."""
    action = rng.choice(["approve", "correct", "correct", "reject"])
    lines = None if action == "reject" else rng.choice([[LATTE, MUFFIN], [LATTE], [MUFFIN]])
    order_id = settled(works, "reject" if action == "reject" else "correct", lines, spoken=False)
    who = rng.choice(["ann", "bob"])
    with works.database.write() as session:
        review = session.scalars(select(ReviewRow).where(ReviewRow.order_id == order_id)).one()
        at = works.database.now(session) - timedelta(seconds=rng.uniform(0, 4 * 3600))
        review.decided_by, review.decided_at = who, at
        review.created_at = at - timedelta(seconds=rng.uniform(0, 5000))
        if action == "approve":
            review.decision = "approve"
        acts = select(ReviewRecordRow).where(ReviewRecordRow.review_id == review.id)
        for act in session.scalars(acts):
            act.actor = who
            act.at = at if act.action == "decided" else at - timedelta(seconds=rng.uniform(0, 900))
            if act.action == "decided" and action == "approve":
                act.after = act.before


def counted(database: Database, hours: int) -> Decided:
    """A full count, from the orders and their reviews."""
    with database.read() as session:
        now = database.now(session)
    since = now.replace(minute=0, second=0, microsecond=0) - HOUR * (hours - 1)
    found = Decided(Counter(), Counter(), Counter(), Counter(), Counter(), Counter())
    for one in ReviewLog(database, "main").settled():
        at = one.review.decided_at
        assert isinstance(at, datetime)
        if at < since:
            continue
        found.by_hour[at.replace(minute=0, second=0, microsecond=0)] += 1
        found.actions[str(one.review.decision)] += 1
        found.people[str(one.review.decided_by)] += 1
        found.waits_s[int((at - one.review.created_at).total_seconds())] += 1
        assert one.began_at is not None
        found.works_s[int((at - one.began_at).total_seconds())] += 1
        found.changes.update(corrections(one.review.proposed, one.after))
    return found


@pytest.mark.parametrize("seed", range(2))
def test_statistics_equal_a_count_of_the_decisions_themselves(
    database: Database, tmp_path: Path, seed: int
) -> None:
    works, rng = Works(database, BlobFolder(tmp_path)), random.Random(seed)
    for _ in range(25):
        decide(works, rng)
    for hours in (1, 2, 3, 24):
        assert decided(database, "main", hours) == counted(database, hours)
    assert 0 < decided(database, "main", 2).actions.total() < 25
    assert decided(database, "main", 24).actions.total() == 25
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
