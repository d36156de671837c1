"""Recordings without an order: left by a process that was killed between the file and its transaction."""

from __future__ import annotations

import structlog

from services.bootstrap import Container

log = structlog.get_logger()

_HOUR_S = 3600.0


def collect_orphans(container: Container) -> int:
    """Remove recordings that no order names and that are over `orphan_hours` old; how many there were. Also
    what a killed API has left half written.

    The age keeps off uploads whose transaction is still to come: those end within minutes.

    Raises:
        StorageUnavailable: orders can't be asked; nothing was removed.
    """
    container.blobs.clear_leftovers()
    old = container.blobs.older_than(container.settings.orphan_hours * _HOUR_S)
    orphans = container.load.unknown_recordings(old)
    for key in orphans:
        container.blobs.delete(key)
    if orphans:
        log.info("recording.collected", orphans=len(orphans))
    return len(orphans)
