"""Recordings that are no longer needed are deleted at once, or by the sweeper after a failure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import pytest

from infra.blobs.folder import BlobFolder
from schemas.errors import AudioDamaged, AudioTooCostly, Conflict
from schemas.lifecycle import State
from schemas.review import ReviewReason
from schemas.transcript import Transcript
from services.transcription.ports import Recording
from services.workers import sweeper
from services.workers.sweeper import collect_orphans
from tests.integration.api_world import World, expect_problem, own_world, wav
from tests.integration.storage.files.test_storage_blobs import files
from tests.stand_ins import Pipeline

own_world = own_world


def spoken(world: World) -> str:
    answer = world.http.post("/v1/orders", files={"audio": ("a", wav())})
    assert answer.status_code == 202
    return str(answer.json()["id"])


def test_cancelling_deletes_the_recording_and_keeps_the_order(own_world: World) -> None:
    http, cancelled, kept = own_world.http, spoken(own_world), spoken(own_world)
    answer = http.get(f"/v1/orders/{cancelled}/audio")
    assert (answer.status_code, answer.content) == (200, wav())
    assert "no-cache" in answer.headers["cache-control"], "a copy would outlive the recording"
    order = http.post(f"/v1/orders/{cancelled}/cancel").json()
    assert (order["status"], order["source"]) == ("cancelled", "audio")
    assert len(own_world.recordings) == 1, "in the moment of the answer"
    expect_problem(http.get(f"/v1/orders/{cancelled}/audio"), 404, "recording_removed")
    assert http.post(f"/v1/orders/{cancelled}/cancel").json() == order, "twice is once"
    assert http.get(f"/v1/orders/{kept}/audio").content == wav()
    assert "<audio" not in http.get(own_world.link(cancelled), follow_redirects=True).text
    assert "<audio" in http.get(own_world.link(kept), follow_redirects=True).text


def test_cancelling_on_the_page_deletes_the_recording(own_world: World) -> None:
    order = spoken(own_world)
    own_world.http.get(own_world.link(order))
    answer = own_world.http.post(f"/orders/{order}/again", headers={"Sec-Fetch-Site": "same-origin"})
    assert answer.status_code == 303
    assert own_world.recordings == []


@pytest.mark.parametrize("error", [AudioDamaged("cut off"), AudioTooCostly("it burns")])
def test_an_unplayable_recording_is_deleted(world: Pipeline, error: Exception) -> None:
    world.transcriber.script = [error]
    order_id = world.spoken()
    order = world.until_settled(order_id)
    assert (order.state, order.audio_key, order.spoken) == (State.FAILED, None, True)
    assert files(world.blobs) == []
    with pytest.raises(Conflict, match="has no words left"):
        world.orders.replay(order_id)


def test_a_recording_is_kept_for_reviewers(world: Pipeline) -> None:
    world.transcriber.script = [RuntimeError("a fault of ours")]
    reviewed = world.spoken()
    assert world.until_settled(reviewed).state is State.IN_REVIEW
    assert world.orders.get(reviewed).reasons == (ReviewReason.STAGE_FAILED,)
    assert len(files(world.blobs)) == 1


def test_a_failing_disk_stores_no_order_and_no_recording(
    own_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = spoken(own_world)
    with monkeypatch.context() as patched:
        patched.setattr(BlobFolder, "delete", Mock(side_effect=PermissionError("recordings")))
        assert own_world.http.post(f"/v1/orders/{order}/cancel").json()["status"] == "cancelled"
    assert len(own_world.recordings) == 1
    expect_problem(own_world.http.get(f"/v1/orders/{order}/audio"), 404, "recording_removed")
    monkeypatch.setattr(sweeper, "AGE_S", -3600.0)
    assert collect_orphans(own_world.parts) == 1
    assert own_world.recordings == []


def test_cancelling_during_transcription_is_safe(world: Pipeline) -> None:
    """The file may disappear before, during or after transcription: the result is dropped."""
    order_id, opened = world.spoken(), []
    hear = world.transcriber.transcribe

    def interrupted(recording: Recording, language: str) -> Transcript:
        key = world.orders.get(order_id).audio_key
        assert key is not None
        with world.blobs.path(key).open("rb") as reading_it:
            world.cancel(order_id)
            opened.append(reading_it.read())
        return hear(recording, language)

    world.transcriber.transcribe = interrupted  # type: ignore[method-assign]
    assert world.runner().run(order_id, "transcribe") is None
    assert opened == [b"RIFF"]
    assert files(world.blobs) == []
    assert world.orders.get(order_id).state is State.CANCELLED
    assert world.types(order_id) == ["received", "cancelled"]


def test_concurrent_cancellation(world: Pipeline, race: Callable[..., list[Any]]) -> None:
    order_id = world.spoken()
    assert race(6, lambda _: world.cancel(order_id)) == [None] * 6
    assert files(world.blobs) == []
