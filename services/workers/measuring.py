"""What each kind of worker shows of itself: where its metrics go, and how much of it is in use."""

from __future__ import annotations

from pathlib import Path

from infra.observability import measures, metrics
from infra.settings import settings
from infra.sql.database import Database

_folder: Path | None = None


def begin(part: str) -> None:
    """Measure in this process and its children, where it can be seen; once, before the fork."""
    global _folder
    _folder = metrics.begin(part, settings().metrics_port)


def serve() -> None:
    """Answer scrapes on `SAYCART_METRICS_PORT`, if it is set; in a main process, after its children began."""
    config = settings()
    if _folder is not None and config.metrics_port:
        metrics.serve(_folder, config.api_host, config.metrics_port)


def watch(database: Database, *, slots: int = 0) -> None:
    """Tell how much of this process is in use: of its connections, and of so many orders at once."""
    if slots:
        measures.has_slots(slots)
    measures.pool_of(database.lends_at_most)
    database.on_lending(measures.connections_in_use)
