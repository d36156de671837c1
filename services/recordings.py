"""The store of recordings that the settings name, and what its errors mean for an order."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from infra.addresses import parameters
from infra.blobs.store import DiskFull
from schemas.errors import InputError, RecordingLost, RecordingsAway, StorageFull

if TYPE_CHECKING:
    from infra.blobs.store import Blobs, BlobWriter, Opened
    from infra.settings import Settings

log = structlog.get_logger(__name__)


def store_of(settings: Settings) -> Blobs:
    """A folder, or a bucket; asks no server.

    Raises:
        InputError: the setting names no store.
    """
    if not settings.recordings_url:
        from infra.blobs.folder import BlobFolder

        return BlobFolder(settings.blobs)
    from infra.blobs.bucket import BlobBucket

    try:
        url, given = parameters(settings.recordings_url, "endpoint")
        return BlobBucket(url, given.get("endpoint", ""), settings.blobs / "tmp")
    except ValueError as error:
        raise InputError(
            f"SAYCART_RECORDINGS_URL can't be used: {error}",
            hint="For example s3://recordings/saycart?endpoint=https://s3.example.",
        ) from None


def new_recording(blobs: Blobs, settings: Settings) -> BlobWriter:
    """Begin a recording, while there is room for more than that.

    Raises:
        StorageFull: less is free than is to stay free.
        DiskFull: nothing is.
    """
    if shutil.disk_usage(settings.blobs).free < settings.least_free_bytes:
        raise StorageFull(
            "There is too little free space for recordings; orders as text are still taken",
            hint="Order as text, or free some disk space: SAYCART_LEAST_FREE_BYTES of it stay free.",
        )
    return blobs.open()


@contextmanager
def reading() -> Iterator[None]:
    """What a recording that can't be read means.

    Raises:
        RecordingLost: it is not there.
        RecordingsAway: the store does not answer.
        StorageFull: it came, and there is no room for it here.
    """
    try:
        yield
    except FileNotFoundError as error:
        raise RecordingLost("The recording of this order can't be found") from error
    except DiskFull as error:
        raise StorageFull("No space left for a copy of the recording") from error
    except OSError as error:
        raise RecordingsAway(f"The recording can't be read now: {error}") from error


def begun(sound: Opened, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
    """As `Opened.pieces`, with the first piece fetched before anything is given: nothing is promised of what
    is gone, or can't be read. Raises as `reading`, the same later on."""
    pieces = sound.pieces(start, stop)
    with reading():
        first = next(pieces, b"")
    return _whole(first, pieces)


def _whole(first: bytes, pieces: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    with reading():
        yield from pieces


@contextmanager
def at_hand(blobs: Blobs, key: str) -> Iterator[Path]:
    """A recording as a file of this machine, for the length of a `with`; raises as `reading`, but for what
    happens inside the `with`."""
    local = blobs.local(key)
    with reading():
        file = local.__enter__()
    try:
        yield file
    finally:
        local.__exit__(None, None, None)


def dropped(blobs: Blobs, key: str) -> None:
    """Remove a recording that no order came to name; where that fails, it is collected after a day."""
    try:
        blobs.delete(key)
    except OSError:
        log.warning("recording.orphaned", exc_info=True)
