"""The contract of recording stores: a folder, and a bucket on a real S3 server."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infra.blobs.bucket import BlobBucket
from infra.blobs.folder import BlobFolder
from infra.blobs.store import Blobs, StoreAway
from infra.keep_days import KeepDays
from infra.settings import REPOSITORY, Settings
from schemas.errors import InputError, StorageFull
from services.recordings import store_of
from tests.servers.object_store import ObjectStore

HOUR_S = 3600.0
# A safety net for the sweeper.
LIFECYCLE = REPOSITORY / "infra/s3/lifecycle.json"


@pytest.fixture
def bucket(object_store: ObjectStore, tmp_path: Path) -> BlobBucket:
    return BlobBucket(f"s3://{object_store.bucket()}/shops/one", object_store.url, tmp_path / "spool")


@pytest.fixture(params=["folder", "bucket"])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> Blobs:
    if request.param == "folder":
        return BlobFolder(tmp_path / "recordings")
    made: BlobBucket = request.getfixturevalue("bucket")
    return made


def stored(blobs: Blobs, sound: bytes = b"RIFF and so on") -> str:
    with blobs.open() as writer:
        writer.write(sound)
        return writer.commit()


def read(blobs: Blobs, key: str) -> bytes:
    with blobs.local(key) as file:
        return file.read_bytes()


def left_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_a_recording_is_readable_until_removed(blobs: Blobs) -> None:
    blobs.check()
    with blobs.open() as writer:
        writer.write(b"one ")
        writer.write(b"two")
        assert (writer.size, writer.sha256) == (7, hashlib.sha256(b"one two").hexdigest())
        assert list(blobs.older_than(-HOUR_S)) == []
        key = writer.commit()
    writer.discard()
    other = stored(blobs)
    with blobs.local(key) as file:
        assert file.read_bytes() == file.read_bytes() == b"one two"
    assert set(blobs.older_than(-HOUR_S)) == {key, other}
    assert list(blobs.older_than(HOUR_S)) == []
    blobs.delete(key)
    blobs.delete(key)
    assert list(blobs.older_than(-HOUR_S)) == [other]
    with pytest.raises(FileNotFoundError), blobs.local(key):
        raise AssertionError("there is nothing to hear")
    blobs.clear_leftovers()


def test_an_uncommitted_recording_does_not_exist(blobs: Blobs, tmp_path: Path) -> None:
    with blobs.open() as writer:
        writer.write(b"half")
    with blobs.open() as writer:
        writer.discard()
        writer.discard()
    assert list(blobs.older_than(-HOUR_S)) == []
    assert left_in(tmp_path) == []


def test_empty_and_long_recordings(blobs: Blobs) -> None:
    sound = secrets.token_bytes(2_500_000)  # several pieces, the last one partial
    long, empty = stored(blobs, sound), stored(blobs, b"")
    assert read(blobs, long) == sound
    assert read(blobs, empty) == b""


@pytest.mark.parametrize("key", ["", "../../etc/passwd", "A" * 32, "a" * 32 + "\n", "a" * 31 + "/", "probe"])
def test_only_valid_keys_are_accepted(blobs: Blobs, key: str) -> None:
    with pytest.raises(ValueError, match="not a blob key"):
        blobs.delete(key)
    with pytest.raises(ValueError, match="not a blob key"), blobs.local(key):
        pass


def test_concurrent_writes(blobs: Blobs, race: Callable[..., list[Any]]) -> None:
    keys = race(8, lambda number: stored(blobs, str(number).encode() * 1000))
    assert race(8, lambda number: read(blobs, keys[number])) == [str(n).encode() * 1000 for n in range(8)]


def test_nothing_is_overwritten(
    bucket: BlobBucket, object_store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(secrets, "token_hex", lambda _: "ab" * 16)
    key = stored(bucket, b"first")
    assert stored(bucket, b"second") == key, "as sent again after an answer that was lost"
    assert read(bucket, key) == b"first"


def test_a_server_that_overwrites_is_rejected(bucket: BlobBucket, monkeypatch: pytest.MonkeyPatch) -> None:
    import obstore

    real = obstore.put
    monkeypatch.setattr(obstore, "put", lambda *given, **more: real(*given, **{**more, "mode": "overwrite"}))
    with pytest.raises(StoreAway, match="If-None-Match"):
        bucket.check()


def test_only_names_under_the_prefix_are_used(bucket: BlobBucket, object_store: ObjectStore) -> None:
    key, name = stored(bucket), bucket._bucket
    bucket.check()
    assert object_store.names(name) == [f"shops/one/{key[:2]}/{key}"], "no probe is left"
    kept = object_store.client.head_object(Bucket=name, Key=f"shops/one/{key[:2]}/{key}")
    assert kept["CacheControl"] == "private, no-store"
    for foreign in ("shops/one/notes.txt", f"shops/one/zz/{key}", f"shops/two/{key[:2]}/{'c' * 32}"):
        object_store.client.put_object(Bucket=name, Key=foreign, Body=b"not ours")
    assert list(bucket.older_than(-HOUR_S)) == [key]


def test_a_killed_process_leaves_no_copy(bucket: BlobBucket, tmp_path: Path) -> None:
    key = stored(bucket)
    code = (
        "import os, sys; from pathlib import Path; from infra.blobs.bucket import BlobBucket\n"
        "b = BlobBucket(sys.argv[1], sys.argv[2], Path(sys.argv[3]))\n"
        "w = b.open(); w.write(b'half')\n"
        "with b.local(sys.argv[4]) as file:\n"
        "    print(file.read_bytes().decode(), flush=True); os.kill(os.getpid(), 9)"
    )
    given = [f"s3://{bucket._bucket}/shops/one", bucket._endpoint, str(tmp_path / "spool"), key]
    done = subprocess.run([sys.executable, "-c", code, *given], capture_output=True, text=True, timeout=60)
    assert (done.stdout.strip(), done.returncode) == ("RIFF and so on", -9)
    assert left_in(tmp_path) == []


def test_errors_differ_from_missing_recordings(
    bucket: BlobBucket, object_store: ObjectStore, tmp_path: Path
) -> None:
    key = stored(bucket)
    nowhere = BlobBucket("s3://no-such-bucket", object_store.url, tmp_path / "spool")
    with pytest.raises(StoreAway, match="NoSuchBucket"):
        stored(nowhere)
    with pytest.raises(StoreAway, match="NoSuchBucket"), nowhere.local(key):
        pass
    with object_store.away():
        for use in (
            lambda: stored(bucket),
            lambda: bucket.local(key).__enter__(),
            lambda: bucket.delete(key),
            lambda: list(bucket.older_than(0)),
            bucket.check,
        ):
            with pytest.raises(StoreAway) as caught:
                use()
            assert "\n" not in str(caught.value)
    assert list(bucket.older_than(-HOUR_S)) == [key]
    with bucket.open() as writer:
        writer._file.close()
        with open("/dev/full", "wb", buffering=0) as writer._file, pytest.raises(StorageFull):
            writer.write(b"x")
    assert left_in(tmp_path) == []


@pytest.mark.parametrize(
    ("url", "endpoint"),
    [
        ("gs://bucket", ""),
        ("s3://", ""),
        ("bucket", ""),
        ("s3://key:secret@bucket", ""),
        ("s3://b", "host:9000"),
    ],
)
def test_an_invalid_bucket_is_reported_at_once(tmp_path: Path, url: str, endpoint: str) -> None:
    with pytest.raises(ValueError, match=r"it is not s3|its server's address"):
        BlobBucket(url, endpoint, tmp_path)
    with pytest.raises(InputError, match="SAYCART_RECORDINGS_URL") as caught:
        store_of(Settings(home=tmp_path, recordings_url=f"{url}?endpoint={endpoint}"))
    assert "secret" not in caught.value.detail


def test_the_expiry_rule_applies_to_recordings_only(object_store: ObjectStore, tmp_path: Path) -> None:
    """Expiry itself is up to the server; moto deletes nothing."""
    bucket, rule = object_store.bucket(), json.loads(LIFECYCLE.read_text())
    object_store.client.put_bucket_lifecycle_configuration(Bucket=bucket, LifecycleConfiguration=rule)
    kept = object_store.client.get_bucket_lifecycle_configuration(Bucket=bucket)
    assert kept["Rules"] == rule["Rules"]

    url = re.search(
        r"SAYCART_RECORDINGS_URL=s3://[^/\s]+([^\s?]+)", (REPOSITORY / "docs/operations.md").read_text()
    )
    assert url is not None
    stored(BlobBucket(f"s3://{bucket}{url[1]}", object_store.url, tmp_path))
    (name,) = object_store.names(bucket)
    assert name.startswith(kept["Rules"][0]["Filter"]["Prefix"])


def test_the_expiry_rule_is_longer_than_default_retention() -> None:
    (rule,) = json.loads(LIFECYCLE.read_text())["Rules"]
    # One month more: retention counts from an order's end, a bucket from the upload.
    kept = KeepDays.of(Settings.model_fields["keep_days"].default).recordings
    assert kept != "forever"
    assert rule["Expiration"]["Days"] >= kept + 30
