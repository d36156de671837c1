"""Redis addresses: redis://:PASSWORD@HOST:6379/0, or rediss://... over TLS."""

from __future__ import annotations

import redis
import redis.asyncio
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.connection import parse_url
from redis.retry import Retry

FORMS = "Write redis://:PASSWORD@HOST:6379/0 or rediss://:PASSWORD@HOST:6379/0."


def checked(url: str) -> str:
    """Return `url` if it is a valid address.

    Raises:
        ValueError: it is not. The message holds no part of the URL, which may contain a password.
    """
    scheme, _, rest = url.partition("://")
    if not rest or scheme not in ("redis", "rediss"):
        raise ValueError("it is not a Redis address")
    try:
        parse_url(url)  # type: ignore[no-untyped-call]
    except ValueError:
        raise ValueError("its port or its options can't be read") from None
    return url


def client(url: str, connect_s: float, answer_s: float) -> redis.Redis:
    """Return a client, to be used in a `with`. It doesn't retry.

    Raises:
        ValueError: as `checked`.
        redis.RedisError: from its commands, also if there is no response in time.
    """
    once = Retry(NoBackoff(), 0)
    return redis.Redis.from_url(
        checked(url), retry=once, socket_connect_timeout=connect_s, socket_timeout=answer_s
    )


def pool(url: str, patience_s: float) -> redis.asyncio.ConnectionPool:
    """Return a connection pool for one event loop, with a timeout. Raises ValueError as `checked`."""
    once = AsyncRetry(NoBackoff(), 0)
    return redis.asyncio.ConnectionPool.from_url(
        checked(url), retry=once, socket_connect_timeout=patience_s, socket_timeout=patience_s
    )
