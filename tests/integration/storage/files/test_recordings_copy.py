"""`saycart recordings copy`: a folder of recordings into a bucket of a real S3 server."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from infra.blobs import moving
from infra.blobs.bucket import BlobBucket
from infra.blobs.folder import BlobFolder
from infra.settings import Settings
from services.cli import recordings
from services.cli.main import app
from tests.integration.api_world import wav
from tests.servers.object_store import ObjectStore

SOUND = wav(0.1)


def kept(folder: Path, sound: bytes) -> str:
    with BlobFolder(folder).open() as writer:
        writer.write(sound)
        return writer.commit()


@pytest.fixture
def bucket(object_store: ObjectStore) -> str:
    return object_store.bucket()


@pytest.fixture
def config(object_store: ObjectStore, bucket: str, tmp_path: Path) -> Settings:
    return Settings(home=tmp_path, recordings_url=f"s3://{bucket}/saycart?endpoint={object_store.url}")


def copy(config: Settings, patch: pytest.MonkeyPatch, *words: str) -> Result:
    patch.setenv("COLUMNS", "250")
    patch.setattr(recordings, "settings", lambda: config)
    return CliRunner().invoke(app, ["recordings", "copy", *words])


def test_a_folder_goes_into_a_bucket_and_what_comes_later_follows(
    config: Settings, object_store: ObjectStore, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sounds = {kept(config.blobs, SOUND + bytes([n])): SOUND + bytes([n]) for n in range(3)}
    (config.blobs / "tmp" / ("a" * 32)).write_bytes(b"an upload that is under way")
    done = copy(config, monkeypatch)
    assert done.exit_code == 0, done.output
    assert "3 copied" in done.output
    assert sorted(object_store.names(bucket)) == sorted(f"saycart/{key[:2]}/{key}" for key in sounds)
    for key, sound in sounds.items():
        there = object_store.client.get_object(Bucket=bucket, Key=f"saycart/{key[:2]}/{key}")
        assert (there["Body"].read(), there["ContentType"]) == (sound, "audio/wav")
    kept(config.blobs, SOUND)
    object_store.asked.clear()
    again = copy(config, monkeypatch, str(config.blobs))
    assert "1 copied; 3 there already" in again.output
    puts = [one for one in object_store.asked if one.startswith("PUT") and "/probe/" not in one]
    assert len(puts) == 1, "what is there is not sent again"


def test_nothing_is_written_over(
    config: Settings, object_store: ObjectStore, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = kept(config.blobs, SOUND)
    name = f"saycart/{key[:2]}/{key}"
    object_store.client.put_object(Bucket=bucket, Key=name, Body=b"another")
    done = copy(config, monkeypatch)
    assert done.exit_code == 1
    assert f"skipped {key}" in done.output
    assert object_store.client.get_object(Bucket=bucket, Key=name)["Body"].read() == b"another"


def test_a_copy_that_was_cut_off_goes_on(
    config: Settings, object_store: ObjectStore, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        kept(config.blobs, SOUND + bytes([number]))
    put, left = BlobBucket.put, [1]

    def once(self: BlobBucket, name: str, content: object, media_type: str = "") -> None:
        """One recording, then the server is away."""
        if not name.startswith("probe/"):
            if not left:
                raise OSError("the server does not answer")
            left.pop()
        put(self, name, content, media_type)  # type: ignore[arg-type]

    monkeypatch.setattr(moving, "_AT_ONCE", 1)
    with monkeypatch.context() as patch:
        patch.setattr(BlobBucket, "put", once)
        cut = copy(config, monkeypatch)
    assert cut.exit_code == 1
    assert "does not answer" in cut.output
    assert len(object_store.names(bucket)) == 1
    assert "2 copied; 1 there already" in copy(config, monkeypatch).output


def test_it_asks_which_bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = copy(Settings(home=tmp_path), monkeypatch)
    assert done.exit_code == 1
    assert "SAYCART_RECORDINGS_URL" in done.output
