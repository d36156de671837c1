"""Database, disk and the recording store."""

from __future__ import annotations

from schemas.errors.base import SaycartError


class StorageError(SaycartError):
    code = "storage_error"


class RecordingLost(StorageError):
    """The order was accepted, so the recording is looked for again (a shared disk may lag); then a person
    asks the customer. It never ends an order by itself."""

    code = "recording_lost"
    retryable = True
    hint = "Do all machines share one SAYCART_RECORDINGS_URL? If it's gone, ask for the order again."


class StaleState(StorageError):
    code = "stale_state"
    hint = "Another worker has moved the order on; this result is dropped."


class StorageUnavailable(StorageError):
    code = "storage_unavailable"
    retryable = True
    hint = "Nothing was stored. Try again shortly."


class RecordingsAway(StorageUnavailable):
    """Unlike with `RecordingLost`, the recording may well exist; it is tried again too."""

    code = "recordings_away"
    hint = "Try again shortly. Can this machine reach the store in SAYCART_RECORDINGS_URL?"


class StorageFull(StorageUnavailable):
    code = "storage_full"
    hint = "Nothing was stored: the disk is full. Free some space, then try again."
