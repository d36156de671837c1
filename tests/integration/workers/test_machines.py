"""Two homes stand for two machines that share a bucket: one accepts a recording, the other transcribes it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from infra.settings import Settings
from schemas.cart import CartDraft
from schemas.lifecycle import Event, State
from services.api import __main__ as api_main
from services.bootstrap import Container
from services.pipeline.runner import Runner
from services.storage.orders.store import OrderStore
from services.transcription.ports import Recording
from services.workers import sweeper
from services.workers.sweeper import collect_orphans
from tests.integration.api_world import World, expect_problem, running, wav
from tests.servers.object_store import ObjectStore
from tests.stand_ins import ATTEMPTS, Bell, ScriptedDecoder, ScriptedTranscriber, speech

SOUND = wav(2.0)
LATTE = CartDraft.model_validate(
    {"lines": [{"kind": "item", "heard": "a large latte", "sku": "latte", "quantity": 1, "size": "L"}]}
)


class FixedTranscriber(ScriptedTranscriber):
    """Returns the same transcript for every recording, and stores its bytes."""

    def transcribe(self, recording: Recording, language: str) -> Any:
        self.sounds.append(recording.file.read_bytes())
        self.samples.append(recording.samples.size)
        return super().transcribe(recording, language)

    def __init__(self) -> None:
        super().__init__([speech("a large latte")])
        self.sounds: list[bytes] = []
        self.samples: list[int] = []


class Worker:
    """A machine that transcribes: its own home, the real container and runner, stand-in engines."""

    def __init__(self, home: Path, taken_in: World) -> None:
        shared = taken_in.parts.settings
        self.home = home
        self.box = Container(shared.model_copy(update={"home": home, "whisper_second": ""}))
        self.orders = OrderStore(self.box.database, "main")
        self.transcriber, self.bell = FixedTranscriber(), Bell()
        decoder = ScriptedDecoder([LATTE])
        tools = replace(self.box.tools, transcriber=lambda: self.transcriber, decoder=lambda: decoder)
        self.runner = Runner(self.orders, self.bell.ring, tools, "elsewhere", attempts=ATTEMPTS, lease_s=60)

    def transcribe(self, order_id: str) -> State | None:
        """Transcribe and decode once, without the delay before a retry."""
        with self.box.database.everywhere().write() as session:
            session.connection().exec_driver_sql(
                f"UPDATE orders SET next_attempt_at = NULL WHERE id = '{order_id}'"
            )
        state = self.runner.run(order_id, "transcribe")
        return self.runner.run(order_id, "decode") if state is State.TRANSCRIBED else state


@pytest.fixture
def bucket(object_store: ObjectStore) -> str:
    return object_store.bucket()


def of(store: ObjectStore, bucket: str) -> dict[str, Any]:
    """Settings for a bucket."""
    return {"recordings_url": f"s3://{bucket}/saycart?endpoint={store.url}"}


@pytest.fixture
def world(object_store: ObjectStore, bucket: str, migrated_sqlite: Path, tmp_path: Path) -> Iterator[World]:
    """The machine that accepts orders. Its database is in neither home, like PostgreSQL."""
    shutil.copy(migrated_sqlite, tmp_path / "shared.db")
    with running(tmp_path / "one", f"sqlite:///{tmp_path / 'shared.db'}", **of(object_store, bucket)) as made:
        yield made


@pytest.fixture
def worker(world: World, tmp_path: Path) -> Iterator[Worker]:
    made = Worker(tmp_path / "two", world)
    with closing(made.box):
        yield made


def spoken(world: World, **more: Any) -> str:
    answer = world.http.post("/v1/orders", files={"audio": ("a", SOUND)}, **more)
    assert answer.status_code == 202, answer.text
    return str(answer.json()["id"])


def sounds_in(folder: Path) -> list[Path]:
    """Return files below a home that may contain a recording."""
    return [path for path in (folder / "recordings").rglob("*") if path.is_file()]


def kept(store: ObjectStore, bucket: str) -> int:
    return len(store.names(bucket))


def test_one_machine_transcribes_anothers_recording(
    object_store: ObjectStore, bucket: str, database_url: str, tmp_path: Path
) -> None:
    with running(tmp_path / "one", database_url, **of(object_store, bucket)) as world:
        worker = Worker(tmp_path / "two", world)
        with closing(worker.box):
            orders = [spoken(world) for _ in range(6)]
            assert [worker.transcribe(order_id) for order_id in orders] == [State.COMPLETED] * 6
            assert worker.transcriber.sounds == [SOUND] * 6
            assert worker.transcriber.samples == [32_000] * 6, "the confined child decodes it as any file"
            assert sounds_in(worker.home) == world.recordings == []


def test_without_the_store_no_order_is_accepted(world: World, object_store: ObjectStore, bucket: str) -> None:
    key = {"Idempotency-Key": "once"}
    with object_store.away():
        refused = world.http.post("/v1/orders", files={"audio": ("a", SOUND)}, headers=key)
        found = expect_problem(refused, 503, "storage_unavailable")
        assert found["retryable"]
        assert int(refused.headers["retry-after"]) >= 1
        assert object_store.url not in refused.text
        assert world.text()["status"] == "processing", "words need no store of recordings"
    assert kept(object_store, bucket) == 0
    assert world.recordings == []
    assert spoken(world, headers=key)
    assert kept(object_store, bucket) == 1


def test_transcription_waits_for_the_store(world: World, worker: Worker, object_store: ObjectStore) -> None:
    order_id = spoken(world)
    with object_store.away():
        assert worker.transcribe(order_id) is State.RECEIVED
        expect_problem(world.http.get(f"/v1/orders/{order_id}/audio"), 503, "recordings_away")
    assert worker.bell.rung[-1][:2] == (order_id, State.RECEIVED)
    assert worker.transcribe(order_id) is State.COMPLETED
    types = [event.type for event in worker.orders.events(order_id)]
    assert types[:3] == ["received", "retry", "transcribed"]
    assert sounds_in(worker.home) == []


def test_a_missing_recording_is_retried_then_reviewed(
    world: World, worker: Worker, object_store: ObjectStore, bucket: str
) -> None:
    late, lost = spoken(world), spoken(world)
    names = {each.rpartition("/")[2]: each for each in object_store.names(bucket)}
    for order_id in (late, lost):
        name = names[world.parts.orders.get(order_id).audio_key]
        object_store.client.delete_object(Bucket=bucket, Key=name)
        assert worker.transcribe(order_id) is State.RECEIVED
        expect_problem(world.http.get(f"/v1/orders/{order_id}/audio"), 503, "recording_lost")
        if order_id == late:
            object_store.client.put_object(Bucket=bucket, Key=name, Body=SOUND)
    assert worker.transcribe(late) is State.COMPLETED
    assert [worker.transcribe(lost) for _ in range(ATTEMPTS - 1)] == [
        *[State.RECEIVED] * (ATTEMPTS - 2), State.IN_REVIEW
    ]  # fmt: skip
    assert worker.orders.get(lost).findings[0].code == "recording_lost"


RANGES = [
    ("bytes=0-9", 206, slice(0, 10)),
    ("bytes=1000-1999", 206, slice(1000, 2000)),
    ("bytes=60000-", 206, slice(60_000, None)),
    ("bytes=-5", 206, slice(-5, None)),
    ("bytes=60000-999999", 206, slice(60_000, None)),
    ("bytes=-999999", 206, slice(None)),
    ("bytes=0-0,5-6", 200, slice(None)),
    ("bytes=9-2", 200, slice(None)),
    ("lines=1-2", 200, slice(None)),
    (f"bytes={len(SOUND)}-", 200, slice(None)),
]


def test_recordings_are_served_whole_or_by_range(world: World) -> None:
    path = f"/v1/orders/{spoken(world)}/audio"
    whole = world.http.get(path)
    assert (whole.status_code, whole.content) == (200, SOUND)
    assert whole.headers["content-type"] == "audio/wav"
    assert whole.headers["cache-control"] == "private, no-cache"
    assert whole.headers["accept-ranges"] == "bytes"
    assert whole.headers["content-length"] == str(len(SOUND))
    for header, status, part in RANGES:
        answer = world.http.get(path, headers={"Range": header})
        assert (answer.status_code, answer.content) == (status, SOUND[part]), header
        if status == 206:
            first, after = part.indices(len(SOUND))[:2]
            assert answer.headers["content-range"] == f"bytes {first}-{after - 1}/{len(SOUND)}"
            assert "no-cache" in answer.headers["cache-control"]
    same = {"Range": "bytes=0-9", "If-Range": whole.headers["etag"]}
    assert world.http.get(path, headers=same).status_code == 206
    other = same | {"If-Range": '"another"'}
    assert world.http.get(path, headers=other).status_code == 200


def test_cancelling_and_erasing_delete_from_the_bucket(
    world: World, worker: Worker, object_store: ObjectStore, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cancelled, erased = spoken(world), spoken(world)
    world.http.post(f"/v1/orders/{cancelled}/cancel")
    assert kept(object_store, bucket) == 1
    assert world.http.get(f"/v1/orders/{erased}/audio").content == SOUND
    world.advance(erased, Event.BROKE)
    with object_store.away():
        assert world.http.delete(f"/v1/orders/{erased}/data").status_code == 200
    assert kept(object_store, bucket) == 1
    monkeypatch.setattr(sweeper, "AGE_S", -3600.0)
    assert collect_orphans(worker.box) == 1, "the sweeper of another machine sees to it"
    assert kept(object_store, bucket) == 0


@pytest.mark.parametrize(("url", "why"), [("s3://never-made", "NoSuchBucket"), ("ftp://x", "is not s3://")])
def test_an_api_without_its_bucket_does_not_start(
    url: str, why: str, object_store: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = Settings(home=tmp_path, recordings_url=f"{url}?endpoint={object_store.url}")
    monkeypatch.setattr(api_main, "settings", lambda: given)
    # These would change all tests that follow.
    monkeypatch.setattr(api_main, "configure_logging", lambda *_, **__: None)
    monkeypatch.setattr(api_main, "allow_files", lambda: None)
    monkeypatch.setattr(api_main, "server", None)
    with capture_logs() as said, pytest.raises(SystemExit) as ended:
        api_main.main()
    assert ended.value.code == 1
    (line,) = [each for each in said if each["event"] == "api.not_started"]
    assert why in line["error"]
