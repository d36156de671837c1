"""Background health checks of dependencies.

A probe has no time to wait for a server that is away: it would time out and be counted as our own failure.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping

import structlog

log = structlog.get_logger()

# Seconds to wait for all checks together. Orchestrators wait one second by default.
WAIT_S = 0.4
QUEUE_PROBE_S = 1.0
UNKNOWN = "not known yet"


class HealthCheck:
    """One slow check and its latest result, `ok` or a problem. Thread-safe; runs once at a time."""

    def __init__(self, check: Callable[[], str]) -> None:
        self._check = check
        self._lock = threading.Lock()
        self._running: threading.Thread | None = None
        self.result = UNKNOWN

    def start(self) -> threading.Thread:
        """Return the thread that runs the check: a new one, or the one still running."""
        with self._lock:
            if self._running is None:
                self._running = threading.Thread(target=self._run, name="readiness", daemon=True)
                self._running.start()
            return self._running

    def _run(self) -> None:
        try:
            result = self._check()
        except Exception:
            log.exception("ready.check_failed")
            result = "the check failed"
        with self._lock:
            self.result, self._running = result, None


def results(checks: Mapping[str, HealthCheck], wait_s: float = WAIT_S) -> dict[str, str]:
    """Start all checks and return their results after `wait_s` seconds, else the previous ones."""
    until = time.monotonic() + wait_s
    for running in [check.start() for check in checks.values()]:
        running.join(max(0.0, until - time.monotonic()))
    return {name: check.result for name, check in checks.items()}


def queue_state(redis_url: str) -> str:
    """Return `ok`, or what is wrong with the queue's Redis."""
    import redis

    from infra.redis.address import client

    try:
        with client(redis_url, QUEUE_PROBE_S, QUEUE_PROBE_S) as connection:
            connection.ping()
    except (redis.RedisError, ValueError):
        log.warning("ready.queue_away", exc_info=True)
        return "no answer"
    return "ok"
