"""The bucket's own rule, a net under the sweeper: a server takes it, and it removes nothing that is kept."""

from __future__ import annotations

import json
import re
from pathlib import Path

from infra.blobs.bucket import BlobBucket
from infra.keep_days import KeepDays
from infra.settings import REPOSITORY, Settings
from tests.servers.object_store import ObjectStore

FILE = REPOSITORY / "infra/s3/lifecycle.json"


def test_the_rule_is_taken_and_holds_for_recordings_alone(object_store: ObjectStore, tmp_path: Path) -> None:
    """Whether they expire is the server's affair; moto removes nothing."""
    bucket, rule = object_store.bucket(), json.loads(FILE.read_text())
    object_store.client.put_bucket_lifecycle_configuration(Bucket=bucket, LifecycleConfiguration=rule)
    kept = object_store.client.get_bucket_lifecycle_configuration(Bucket=bucket)
    assert kept["Rules"] == rule["Rules"]

    url = re.search(
        r"SAYCART_RECORDINGS_URL=s3://[^/\s]+([^\s?]+)", (REPOSITORY / "docs/operations.md").read_text()
    )
    assert url is not None
    with BlobBucket(f"s3://{bucket}{url[1]}", object_store.url, tmp_path).open() as writer:
        writer.write(b"RIFF")
        writer.commit()
    (name,) = object_store.names(bucket)
    assert name.startswith(kept["Rules"][0]["Filter"]["Prefix"])


def test_it_waits_longer_than_recordings_are_kept_by_default() -> None:
    (rule,) = json.loads(FILE.read_text())["Rules"]
    # A month more: an order's days are counted from its end, and a bucket's from the upload.
    kept = KeepDays.of(Settings.model_fields["keep_days"].default).recordings
    assert kept != "forever"
    assert rule["Expiration"]["Days"] >= kept + 30
