"""Retries while the database is down."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

import structlog

from schemas.errors import StorageUnavailable

log = structlog.get_logger()

T = TypeVar("T")
WAIT_S, MAX_WAIT_S = 0.2, 3.0


def retry_while_down(call: Callable[[], T], limit_s: float) -> T:
    """Return the result of `call`, retried for `limit_s` seconds while the database is down.

    Raises:
        StorageUnavailable: it is down for longer.
    """
    end, longest = time.monotonic() + limit_s, WAIT_S
    while True:
        try:
            return call()
        except StorageUnavailable as error:
            wait = random.uniform(0, longest)  # noqa: S311 - jitter, no secret
            if time.monotonic() + wait > end:
                raise
            log.warning("storage.tried_again", error=error.detail, wait_s=round(wait, 2))
        time.sleep(wait)
        longest = min(MAX_WAIT_S, 2 * longest)
