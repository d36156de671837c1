"""Recordings of a folder into a bucket: what is not there yet, so that a copy that was cut off goes on."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from functools import partial
from pathlib import Path

from infra.blobs.bucket import BlobBucket
from infra.blobs.folder import BlobFolder

# Requests at once. A put is mostly a wait for the server.
_AT_ONCE = 8


class Fate(StrEnum):
    """What became of one recording."""

    COPIED = "copied"
    THERE = "there already"
    GONE = "removed meanwhile"
    ANOTHER = "not copied, since another recording has its name"


def copied(folder: Path, bucket: BlobBucket, media_type: Callable[[Path], str]) -> Iterator[tuple[str, Fate]]:
    """Copy each recording below `folder`, under the key that it has; its key and what became of it.

    Nothing is ever written over. What the bucket lists with the same size is taken as copied: an object is
    there whole or not at all.

    Raises:
        StoreAway: the server does not answer. What was copied stays, and is not copied again.
        OSError: a file can't be read.
    """
    source, there = BlobFolder(folder), bucket.sizes()
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        try:
            yield from pool.map(partial(_one, source, bucket, there, media_type), list(source.keys()))
        finally:
            pool.shutdown(cancel_futures=True)


def _one(
    source: BlobFolder,
    bucket: BlobBucket,
    there: dict[str, int],
    media_type: Callable[[Path], str],
    key: str,
) -> tuple[str, Fate]:
    path = source.path(key)
    try:
        if there.get(key) == path.stat().st_size:
            return key, Fate.THERE
        with path.open("rb", buffering=0) as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            added = bucket.add(key, file, digest, media_type(path))
    except FileNotFoundError:
        return key, Fate.GONE
    except FileExistsError:
        return key, Fate.ANOTHER
    return key, Fate.COPIED if added else Fate.THERE
