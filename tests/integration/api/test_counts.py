"""What went wrong is counted by kind: a stage that failed apart from a cart that is doubtful."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import update

from infra.blobs.folder import BlobFolder
from infra.sql.database import Database
from schemas.cart import CartDraft
from schemas.errors import DecodeTruncated
from schemas.lifecycle import State
from services.storage.base.tables import CodeRow, EventRow
from tests.stand_ins import AWAY, RIGHT, Works


@pytest.fixture
def world(database: Database, tmp_path: Path) -> Works:
    return Works(database, BlobFolder(tmp_path / "blobs"))


def test_failures_findings_and_reasons_are_counted_apart(world: Works) -> None:
    world.decoder.script = [DecodeTruncated("finish_reason 'length'")]
    world.until_settled(world.typed())
    world.decoder.script = [CartDraft(lines=())]
    world.until_settled(world.typed())
    counts = world.orders.code_counts()
    assert counts["failure", "decode_truncated"] == 1
    assert ("finding", "decode_truncated") not in counts
    assert counts["finding", "empty_cart"] == 1
    assert counts["reason", "decode_truncated"] == 1
    assert counts["reason", "blocking_finding"] == 1


def test_outages_are_counted(world: Works) -> None:
    world.decoder.script = [AWAY, AWAY, RIGHT]
    assert world.until_settled(world.typed()).state is State.COMPLETED
    assert world.orders.code_counts()["failure", "engine_unavailable"] == 2
    happened = world.orders.event_counts()
    assert happened["decoded"] == 1
    assert happened["retry"] == 2


def test_what_happened_over_a_day_ago_is_not_counted(world: Works) -> None:
    world.decoder.script = [CartDraft(lines=())]
    world.until_settled(world.typed())
    with world.database.write() as session:
        for table in (EventRow, CodeRow):
            session.execute(update(table).values(at=world.database.now(session) - timedelta(hours=25)))
    world.typed()
    assert world.orders.event_counts() == {"received": 1, "transcribed": 1}
    assert world.orders.code_counts() == {}


def test_an_embedded_start_frees_what_dead_workers_held(world: Works) -> None:
    order_id = world.typed()
    held = world.orders.claim(order_id, State.TRANSCRIBED, owner="dead", lease_s=900)
    assert held is not None
    assert world.orders.due(limit=9, idle_s=0) == []
    assert world.orders.free_leases() == 1
    assert world.orders.due(limit=9, idle_s=0) == [(order_id, State.TRANSCRIBED)]
    assert world.until_settled(order_id).state is State.COMPLETED
