"""An order whose recording can't be found: looked for again, then a human asks. It is never simply over."""

from __future__ import annotations

from pathlib import Path

import pytest

from infra.blobs.folder import BlobFolder
from infra.sql.database import Database
from schemas.lifecycle import State
from schemas.review import ReviewReason
from tests.stand_ins import ATTEMPTS, Works


@pytest.fixture
def world(database: Database, tmp_path: Path) -> Works:
    return Works(database, BlobFolder(tmp_path / "blobs"))


def recording_of(world: Works, order_id: str) -> Path:
    key = world.orders.get(order_id).audio_key
    assert key is not None
    return world.blobs.path(key)


def test_a_recording_that_comes_late_is_waited_for(world: Works) -> None:
    """As on a disk that several machines share."""
    order_id = world.spoken()
    late = recording_of(world, order_id)
    sound = late.read_bytes()
    late.unlink()
    assert world.runner().run(order_id, "transcribe") is State.RECEIVED
    assert world.bell.rung[-1][:2] == (order_id, State.RECEIVED)
    late.write_bytes(sound)
    assert world.until_settled(order_id).state is State.COMPLETED
    assert world.types(order_id)[:3] == ["received", "retry", "transcribed"]


def test_a_lost_recording_goes_to_a_human_who_may_ask_for_it_again(world: Works) -> None:
    order_id = world.spoken()
    recording_of(world, order_id).unlink()
    order = world.until_settled(order_id)
    assert world.reasons(order_id) == {ReviewReason.STAGE_FAILED}
    (finding,) = order.findings
    assert finding.code == "recording_lost"
    assert order.error is None, "it was answered with 202, so it is never simply over"
    assert world.types(order_id) == ["received", *["retry"] * (ATTEMPTS - 1), "doubted"]
    assert world.transcriber.heard == []
