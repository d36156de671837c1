"""Recordings that nobody needs any more: gone at once, or by the sweeper after whatever went wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, text

from infra.blobs.folder import BlobFolder
from infra.sql.database import Database
from schemas.errors import AudioDamaged, AudioTooCostly, Conflict
from schemas.lifecycle import State
from schemas.order import OrderError
from schemas.review import ReviewReason
from schemas.transcript import Transcript
from services.storage.base.changes import let_go, reading, writing
from services.storage.base.tables import RemovalRow
from services.transcription.ports import Recording
from tests.integration.api_world import World, expect_problem, own_world, wav
from tests.stand_ins import Works

own_world = own_world
REFUSED = OrderError(code="audio_damaged", message="cut off", hint="Send it again.", stage="transcribe")


def spoken(world: World) -> str:
    answer = world.http.post("/v1/orders", files={"audio": ("a", wav())})
    assert answer.status_code == 202
    return str(answer.json()["id"])


def waiting(database: Database) -> int:
    """How many removals are written down."""
    with reading(database.everywhere()) as session:
        return len(session.scalars(select(RemovalRow.key)).all())


def files(world: Works) -> list[Path]:
    return [path for path in world.blobs._root.rglob("*") if path.is_file()]


def test_a_cancelled_order_stays_and_its_recording_goes(own_world: World) -> None:
    http, cancelled, kept = own_world.http, spoken(own_world), spoken(own_world)
    heard = http.get(f"/v1/orders/{cancelled}/audio")
    assert (heard.status_code, heard.content) == (200, wav())
    assert "no-cache" in heard.headers["cache-control"], "a copy would outlive the recording"
    assert len(own_world.recordings) == 2
    order = http.post(f"/v1/orders/{cancelled}/cancel").json()
    assert (order["status"], order["source"]) == ("cancelled", "audio")
    assert len(own_world.recordings) == 1, "in the moment of the answer"
    expect_problem(http.get(f"/v1/orders/{cancelled}/audio"), 404, "recording_removed")
    assert http.get(f"/v1/orders/{cancelled}").json() == order
    assert http.post(f"/v1/orders/{cancelled}/cancel").json() == order, "twice is once"
    assert http.get(f"/v1/orders/{kept}/audio").content == wav()
    page = http.get(own_world.link(cancelled), follow_redirects=True)
    assert page.status_code == 200
    assert "<audio" not in page.text
    assert "<audio" in http.get(own_world.link(kept), follow_redirects=True).text
    assert waiting(own_world.parts.database) == 0


def test_taken_back_on_its_page_it_goes_too(own_world: World) -> None:
    order = spoken(own_world)
    own_world.http.get(own_world.link(order))
    answer = own_world.http.post(f"/orders/{order}/again", headers={"Sec-Fetch-Site": "same-origin"})
    assert answer.status_code == 303
    assert own_world.recordings == []


@pytest.mark.parametrize("error", [AudioDamaged("cut off"), AudioTooCostly("it burns")])
def test_what_nobody_can_hear_is_not_kept(world: Works, error: Exception) -> None:
    world.transcriber.script = [error]
    order_id = world.spoken()
    order = world.until_settled(order_id)
    assert (order.state, order.audio_key, order.spoken) == (State.FAILED, None, True)
    assert files(world) == []
    assert waiting(world.database) == 0
    with pytest.raises(Conflict, match="was refused and deleted"):
        world.orders.replay(order_id)


def test_what_a_human_may_still_want_is_kept(world: Works) -> None:
    """In review it is listened to; a fault that is not the recording's may be mended and replayed."""
    world.transcriber.script = [RuntimeError("a fault of ours")]
    reviewed = world.spoken()
    assert world.until_settled(reviewed).state is State.IN_REVIEW
    assert world.orders.get(reviewed).reasons == (ReviewReason.STAGE_FAILED,)
    assert len(files(world)) == 1
    world.orders.cancel(reviewed)
    world.remove_recording(reviewed)
    assert files(world) == []


def test_what_a_crash_left_is_found(own_world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dead after the transaction: the row stands, and the next sweep removes the file."""
    box, order = own_world.parts, spoken(own_world)
    box.orders.cancel(order)
    assert len(own_world.recordings) == 1
    expect_problem(own_world.http.get(f"/v1/orders/{order}/audio"), 404, "recording_removed")
    assert box.remove_recordings() == 1
    assert (own_world.recordings, waiting(box.database)) == ([], 0)

    # Dead after the file, before the row was taken away.
    order = spoken(own_world)
    key = box.orders.get(order).audio_key
    box.orders.cancel(order)
    box.blobs.delete(key)
    assert box.remove_recordings() == 1
    assert waiting(box.database) == 0

    # A disk that refuses: the order is cancelled all the same, and the file goes when it lets it.
    order, real = spoken(own_world), BlobFolder.delete

    def refusing(self: BlobFolder, key: str) -> None:
        raise PermissionError(key)

    monkeypatch.setattr(BlobFolder, "delete", refusing)
    assert own_world.http.post(f"/v1/orders/{order}/cancel").json()["status"] == "cancelled"
    assert (len(own_world.recordings), waiting(box.database)) == (1, 1)
    monkeypatch.setattr(BlobFolder, "delete", real)
    assert box.remove_recordings() == 1
    assert own_world.recordings == []


def test_a_worker_that_reads_it_right_now_is_not_hurt(world: Works) -> None:
    """The file may go before it is opened, while it is read, or after it was heard: its result is dropped."""
    order_id, opened = world.spoken(), []

    def cancelled_meanwhile() -> None:
        key = world.orders.get(order_id).audio_key
        assert key is not None
        with world.blobs.path(key).open("rb") as reading_it:
            world.orders.cancel(order_id)
            world.remove_recording(order_id)
            opened.append(reading_it.read())

    hear = world.transcriber.transcribe

    def interrupted(recording: Recording, language: str) -> Transcript:
        cancelled_meanwhile()
        return hear(recording, language)

    world.transcriber.transcribe = interrupted  # type: ignore[method-assign]
    assert world.runner().run(order_id, "transcribe") is None
    assert opened == [b"RIFF"]
    assert world.orders.get(order_id).state is State.CANCELLED
    assert world.types(order_id) == ["received", "cancelled"]


def test_many_are_removed_in_pieces_and_one_that_is_stuck_holds_up_none(
    world: Works, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.storage.privacy.removals.CHUNK", 7)
    orders = [world.spoken() for _ in range(30)]
    stuck = world.orders.get(orders[11]).audio_key
    with writing(world.database) as (session, _):
        for order_id in orders:
            let_go(session, world.orders.get(order_id))
        session.execute(text("UPDATE orders SET audio_key = NULL"))
        session.add(RemovalRow(key="no/key", order_id="x"))

    def remove(key: str) -> None:
        if key == stuck:
            raise OSError("stuck")
        world.blobs.delete(key)

    assert world.removals.carry_out(remove) == 30
    assert (len(files(world)), waiting(world.database)) == (1, 1)
    assert world.removals.carry_out(world.blobs.delete) == 1
    assert files(world) == []


def test_an_order_that_moved_meanwhile_loses_nothing(world: Works, race: Callable[..., list[Any]]) -> None:
    """Cancelled by many at once: one removal, no error; the others find it cancelled."""
    order_id = world.spoken()

    def cancel(_: int) -> int:
        world.orders.cancel(order_id)
        return world.remove_recording(order_id)

    assert not [found for found in race(6, cancel) if isinstance(found, Exception)]
    assert files(world) == []
