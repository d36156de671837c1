"""The real Celery worker with a stand-in decoder: `celery -A tests.processes.standing_worker`.

Queue, database, leases and pools are real.
"""

from __future__ import annotations

import os
from functools import cached_property

from services.bootstrap import Container
from services.decoding.ports import CartDecoder
from services.workers import app as worker
from services.workers.app import app
from tests.stand_ins import GatedDecoder

__all__ = ["app"]


def _decoder(container: Container) -> CartDecoder:
    return GatedDecoder(container.settings.home)


worker.DRAIN_S = float(os.environ.get("DRAIN_S", worker.DRAIN_S))
Container.decoder = cached_property(_decoder)  # type: ignore[assignment]
Container.decoder.__set_name__(Container, "decoder")
