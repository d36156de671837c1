"""What others say of themselves, asked beside the requests: a probe has no time to wait for a server that is
away, and would time out for a reason that is not its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping

import structlog

from infra.settings import Settings
from schemas.errors import InputError

log = structlog.get_logger()

# Seconds that a caller waits for all answers together. Orchestrators wait for one by default.
WAIT_S = 0.4
QUEUE_PROBE_S = 1.0
UNKNOWN = "not known yet"


class Finding:
    """What one slow check found last: `ok` or a problem. Any thread may ask; one check runs at a time."""

    def __init__(self, check: Callable[[], str]) -> None:
        self._check = check
        self._lock = threading.Lock()
        self._asking: threading.Thread | None = None
        self.last = UNKNOWN

    def ask(self) -> threading.Thread:
        """The thread that asks now: a new one, or the one that is still at it."""
        with self._lock:
            if self._asking is None:
                self._asking = threading.Thread(target=self._ask, name="readiness", daemon=True)
                self._asking.start()
            return self._asking

    def _ask(self) -> None:
        try:
            found = self._check()
        except Exception:
            log.exception("ready.check_failed")
            found = "the check failed"
        with self._lock:
            self.last, self._asking = found, None


def found(findings: Mapping[str, Finding], wait_s: float = WAIT_S) -> dict[str, str]:
    """Ask all again; what each says within `wait_s` seconds, or what it said last."""
    until = time.monotonic() + wait_s
    for asking in [finding.ask() for finding in findings.values()]:
        asking.join(max(0.0, until - time.monotonic()))
    return {name: finding.last for name, finding in findings.items()}


def queue_state(redis_url: str) -> str:
    """`ok`, or what is wrong with the Redis of the queue."""
    import redis

    from infra.redis.address import client

    try:
        with client(redis_url, QUEUE_PROBE_S, QUEUE_PROBE_S) as opened:
            opened.ping()
    except (redis.RedisError, ValueError):
        log.warning("ready.queue_away", exc_info=True)
        return "no answer"
    return "ok"


def check_addresses(settings: Settings) -> None:
    """Raises InputError where a Redis is named in a way that can't be read."""
    named = {"REDIS_URL": settings.redis_url, "SAYCART_LIMITS_URL": settings.limits_url}
    if not any(named.values()):
        return
    from infra.redis.address import FORMS, checked

    for name, url in named.items():
        try:
            if url:
                checked(url)
        except ValueError as error:
            raise InputError(f"{name} can't be used: {error}", hint=FORMS) from None
