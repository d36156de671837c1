"""Kombu's Redis transport without Lua: the embedded Redis lets no client of the queue run a script.

Kombu uses scripts in two places. The lock that keeps workers from restoring the same messages at once is
given back by one, here by a transaction. Tables of bindings that expire are kept by others: those belong to
queues for remote control and results, of which we have none (`broker.py`).
"""

from __future__ import annotations

from typing import Any

import redis
from kombu.transport import redis as kombu_redis
from redis.client import Pipeline
from redis.exceptions import LockNotOwnedError
from redis.lock import Lock


class PlainLock(Lock):
    """redis-py's lock, whose token is compared and deleted in a transaction; it can't be prolonged."""

    def register_scripts(self) -> None:
        """None: they would be loaded by `SCRIPT`."""

    def do_release(self, expected_token: str) -> None:
        """Give it back.

        Raises:
            LockNotOwnedError: it ran out, and may be another's by now.
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
