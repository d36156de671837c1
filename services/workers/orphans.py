"""Recordings that no order names: retention released them, their deletion failed, or a process was killed
between the file and its transaction."""

from __future__ import annotations

import structlog

from services.bootstrap import Container
from services.recordings import read_errors

log = structlog.get_logger()

AGE_S = 3600.0


def collect_orphans(container: Container) -> int:
    """Remove recordings that no order names and that are over `AGE_S` old; how many there were. Also
    what a killed API has left half written.

    The age keeps off uploads whose transaction is still to come: those end within minutes.

    Raises:
        StorageUnavailable: orders or the store of recordings can't be asked.
    """
    blobs = container.blobs
    blobs.clear_leftovers()
    with read_errors():
        orphans = container.load.unknown_recordings(blobs.older_than(AGE_S))
        for key in orphans:
            blobs.delete(key)
    if orphans:
        log.info("recording.collected", orphans=len(orphans))
    return len(orphans)
