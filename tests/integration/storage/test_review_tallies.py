"""Statistics of reviews from hourly tallies equal those from the decisions themselves."""

from __future__ import annotations

import random
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import select, update

from infra.blobs.folder import BlobFolder
from infra.sql.database import Database
from schemas.corrections import corrections
from services.storage.base.records import Decided
from services.storage.base.tables import ReviewRecordRow, ReviewRow
from services.storage.counts import folding, review_tallies
from services.storage.counts.review_tallies import two_digits
from services.storage.counts.tallies import TallyStore
from services.storage.reviews.log import ReviewLog
from tests.integration.api.test_corrections import LATTE, MUFFIN, settled
from tests.integration.storage.test_tallies import plans
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
        found.waits_s[two_digits((at - one.review.created_at).total_seconds())] += 1
        assert one.began_at is not None
        found.works_s[two_digits((at - one.began_at).total_seconds())] += 1
        found.changes.update(corrections(one.review.proposed, one.after))
    return found


@pytest.mark.parametrize("seed", range(2))
def test_statistics_equal_a_full_count_however_far_they_are_folded(
    database: Database, tmp_path: Path, seed: int
) -> None:
    works, rng = Works(database, BlobFolder(tmp_path)), random.Random(seed)
    tallies = TallyStore(database)
    for _ in range(25):
        decide(works, rng)
    for hours in (1, 3, 24):
        assert tallies.decided("main", hours) == counted(database, hours)
    assert tallies.decided("main", 24).actions.total() == 25
    while tallies.fold(40):  # of decisions a tenth
        for hours in (1, 2, 3, 24):
            assert tallies.decided("main", hours) == counted(database, hours)
    assert 0 < tallies.decided("main", 2).actions.total() < 25
    settled(works, "correct", [LATTE], spoken=False)
    assert tallies.decided("main", 24) == counted(database, 24)
    assert tallies.decided("main", 24).actions.total() == 26


def test_folded_decisions_are_not_read_again(database: Database, tmp_path: Path) -> None:
    works, tallies = Works(database, BlobFolder(tmp_path)), TallyStore(database)
    rng = random.Random(5)
    for _ in range(5):
        decide(works, rng)
    before = tallies.decided("main", 24)
    while tallies.fold():
        pass
    with database.write() as session:
        assert folding.mark(session, "decided") > folding.BEGINNING
        session.execute(update(ReviewRecordRow).values(actor="nobody"))
    shown = tallies.decided("main", 24)
    # Those of the last minute are still counted live.
    assert shown.people.total() == before.people.total() == 5
    assert shown.people["nobody"] < 5


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)  # whose plans do not go by sizes
def test_decisions_are_read_by_their_time_and_their_review(database: Database, tmp_path: Path) -> None:
    works, rng = Works(database, BlobFolder(tmp_path)), random.Random(1)
    for _ in range(3):
        decide(works, rng)
    with plans(database) as steps:
        TallyStore(database).decided("main", 24)
        assert TallyStore(database).fold()
        with database.read() as session:  # as many as are read at once: SQLite goes by the length of a list
            review_tallies._began(session, [f"rev_{number}" for number in range(review_tallies._CHUNK)])
    records = {step for _, step in steps if "review" in step}
    assert records
    assert not [step for step in records if step.startswith("SCAN") or step.endswith("(action=?)")]


@pytest.mark.parametrize(
    ("seconds", "kept"),
    [
        (-1, 0),
        (0.9, 0),
        (7.5, 7),
        (42, 42),
        (99.9, 99),
        (119.9, 110),
        (120, 120),
        (3600, 3600),
        (86399, 86000),
    ],
)
def test_times_are_kept_down_to_two_digits(seconds: float, kept: int) -> None:
    assert two_digits(seconds) == kept
