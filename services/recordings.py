"""The store of recordings that the settings name, and its errors as errors of an order."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from infra.addresses import parameters
from schemas.errors import InputError, RecordingLost, RecordingsAway, StorageFull

if TYPE_CHECKING:
    from infra.blobs.store import Blobs, BlobWriter
    from infra.settings import Settings

log = structlog.get_logger(__name__)


def store_of(settings: Settings) -> Blobs:
    """Return the folder or the bucket of the settings; sends no request.

    Raises:
        InputError: the setting is not a store's address.
    """
    if not settings.recordings_url:
        from infra.blobs.folder import BlobFolder

        return BlobFolder(settings.blobs)
    from infra.blobs.bucket import BlobBucket

    try:
        url, query = parameters(settings.recordings_url, "endpoint")
        return BlobBucket(url, query.get("endpoint", ""), settings.blobs / "tmp")
    except ValueError as error:
        raise InputError(
            f"SAYCART_RECORDINGS_URL can't be used: {error}",
            hint="For example s3://recordings/saycart?endpoint=https://s3.example.",
        ) from None


def new_recording(blobs: Blobs, settings: Settings) -> BlobWriter:
    """Return a writer for a new recording.

    Raises:
        StorageFull: less space is free than `least_free_bytes`, or none at all.
    """
    if shutil.disk_usage(settings.blobs).free < settings.least_free_bytes:
        raise StorageFull(
            "There isn't enough free space for recordings; text orders are still accepted",
            hint="Order by text, or free some disk space: SAYCART_LEAST_FREE_BYTES must stay free.",
        )
    return blobs.open()


@contextmanager
def read_errors() -> Iterator[None]:
    """Translate errors of reading a recording.

    Raises:
        RecordingLost: it doesn't exist.
        RecordingsAway: the store doesn't respond.
    """
    try:
        yield
    except FileNotFoundError as error:
        raise RecordingLost("The recording of this order can't be found") from error
    except OSError as error:
        raise RecordingsAway(f"The recording can't be read now: {error}") from error


@contextmanager
def local_recording(blobs: Blobs, key: str) -> Iterator[Path]:
    """Yield a recording as a local file. Raises as `read_errors`, except for errors
    inside the block, and StorageFull."""
    with ExitStack() as held:
        with read_errors():
            file = held.enter_context(blobs.local(key))
        yield file


def delete_unused(blobs: Blobs, key: str) -> None:
    """Delete a recording that no order refers to; if that fails, the sweeper collects it within hours."""
    try:
        blobs.delete(key)
    except OSError:
        log.warning("recording.orphaned", exc_info=True)
