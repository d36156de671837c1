"""As standing_worker.py, with spans that are sent at the end of a process and not before."""

from __future__ import annotations

from infra.observability import otlp
from tests.processes.standing_worker import app

__all__ = ["app"]

otlp.DELAY_S = 3600.0
