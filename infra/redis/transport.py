"""Kombu's Redis transport without Lua, since the embedded Redis allows no scripts.

Kombu uses scripts in two places: to release the lock for restoring messages, which a transaction does here,
and for expiring bindings of queues for remote control and results, which we don't use (`broker.py`).
"""

from __future__ import annotations

from typing import Any

import redis
from kombu.transport import redis as kombu_redis
from redis.client import Pipeline
from redis.exceptions import LockNotOwnedError
from redis.lock import Lock


class PlainLock(Lock):
    """redis-py's lock, released by a transaction; it can't be extended."""

    def register_scripts(self) -> None:
        """Register none: that would use `SCRIPT`."""

    def do_release(self, expected_token: str) -> None:
        """Release the lock.

        Raises:
            LockNotOwnedError: it expired, and may be another's by now.
        """

        def release(pipe: Pipeline) -> None:
            if pipe.get(self.name) != expected_token:
                raise LockNotOwnedError("It is no longer held", lock_name=str(self.name))
            pipe.multi()
            pipe.delete(self.name)

        self.redis.transaction(release, self.name)


class _Client(redis.Redis):
    def lock(self, name: str, *arguments: Any, **options: Any) -> Any:
        return super().lock(name, *arguments, **{"lock_class": PlainLock, **options})


class Channel(kombu_redis.Channel):
    def _get_client(self) -> type[redis.Redis]:
        super()._get_client()  # type: ignore[no-untyped-call]  # checks redis-py
        return _Client


class Transport(kombu_redis.Transport):
    Channel = Channel
