"""How a Redis is named, in one place: by its own address, or by those of the Sentinels who know where it is.

    redis://:PASSWORD@HOST:6379/0        rediss://... over TLS        unix:///PATH?db=0
    redis+sentinel://USER:PASSWORD@HOST:26379,HOST:26379/0?master=NAME&sentinel_password=PASSWORD

With Sentinel each new connection asks who the master is, so that a fail-over is a lost connection, no more.
User and password are the server's; Sentinels may have their own (`sentinel_username`, `sentinel_password`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

import redis
import redis.asyncio
import redis.asyncio.sentinel
import redis.sentinel
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.connection import parse_url
from redis.retry import Retry

FORMS = (
    "Write redis://HOST:6379/0, rediss://HOST:6379/0, unix:///PATH?db=0 "
    "or redis+sentinel://:PASSWORD@HOST:26379,HOST:26379/0?master=NAME."
)
_SENTINEL = "redis+sentinel"
_SENTINEL_PORT = 26379
_MAY_SAY = {"master", "sentinel_username", "sentinel_password"}
# Seconds for one Sentinel that does not answer, before the next one is asked.
_ASK_S = 1.0


@dataclass(frozen=True, slots=True, repr=False)
class RedisAddress:
    """`url` as it was written, with its passwords; `sentinels`: (host, port) of each, none for a server that
    is named itself. `who` and `sentinel_who` are what is shown to the server and to the Sentinels."""

    url: str
    sentinels: tuple[tuple[str, int], ...]
    master: str
    database: int
    who: dict[str, str]
    sentinel_who: dict[str, str]

    @property
    def broker(self) -> dict[str, Any]:
        """Celery's settings that lead there; the options join those that hold for any address."""
        plain = {"broker_url": self.url, "broker_transport_options": {}}
        if self.url.startswith("redis://"):
            return plain | {"broker_transport": "infra.redis.transport:Transport"}
        if self.url.startswith("unix://"):
            return plain | {"broker_url": _socket_url(self.url)}
        if not self.sentinels:
            return plain
        shown = ":".join(quote(self.who.get(part, ""), safe="") for part in ("username", "password"))
        # Each with everything: kombu takes any of them for the one that it connects by.
        urls = (
            f"sentinel://{shown}@{_bracketed(host)}:{port}/{self.database}" for host, port in self.sentinels
        )
        return {
            "broker_url": ";".join(urls),
            "broker_transport": "infra.redis.transport:SentinelTransport",
            "broker_transport_options": {
                "master_name": self.master,
                "sentinel_kwargs": self._ask(_ASK_S) | {"retry": Retry(NoBackoff(), 0)},
            },
        }

    @contextmanager
    def client(self, connect_s: float, answer_s: float) -> Iterator[redis.Redis]:
        """A client of the master as it is now, closed at the end of the block. It tries each thing once.

        Raises:
            redis.RedisError: from its commands; there is no master; no answer in that many seconds.
        """
        times = {"socket_connect_timeout": connect_s, "socket_timeout": answer_s}
        once = Retry(NoBackoff(), 0)
        if not self.sentinels:
            with redis.Redis.from_url(self.url, retry=once, **times) as client:
                yield client
            return
        asked = {**self._ask(min(connect_s, _ASK_S)), "retry": once}
        server: dict[str, Any] = {"db": self.database, "retry": once, **self.who, **times}
        with (
            redis.sentinel.Sentinel(self.sentinels, sentinel_kwargs=asked) as sentinel,  # type: ignore[no-untyped-call]
            sentinel.master_for(self.master, **server) as client,
        ):
            yield client

    def pool(self, patience_s: float) -> redis.asyncio.ConnectionPool:
        """Connections to the master for one event loop: each try, of a Sentinel too, ends in `patience_s`."""
        times = {"socket_connect_timeout": patience_s, "socket_timeout": patience_s}
        once = AsyncRetry(NoBackoff(), 0)
        if not self.sentinels:
            return redis.asyncio.ConnectionPool.from_url(self.url, retry=once, **times)
        server: dict[str, Any] = {"db": self.database, "retry": once, **self.who, **times}
        asked = {**self._ask(patience_s), "retry": once}
        sentinel = redis.asyncio.sentinel.Sentinel(self.sentinels, sentinel_kwargs=asked)  # type: ignore[no-untyped-call]
        pool: redis.asyncio.ConnectionPool = sentinel.master_for(self.master, **server).connection_pool
        return pool

    def _ask(self, patience_s: float) -> dict[str, Any]:
        """How a Sentinel is asked."""
        return {**self.sentinel_who, "socket_connect_timeout": patience_s, "socket_timeout": patience_s}


def redis_address(url: str) -> RedisAddress:
    """What a setting names.

    Raises:
        ValueError: it can't be read. Its words hold nothing of the URL, which has passwords in it.
    """
    scheme, _, rest = url.partition("://")
    if not rest or scheme not in ("redis", "rediss", "unix", _SENTINEL):
        raise ValueError("it is no address of a Redis")
    if scheme != _SENTINEL:
        try:
            parse_url(url)  # type: ignore[no-untyped-call]
        except ValueError:
            raise ValueError("its port or its options can't be read") from None
        return RedisAddress(url, (), "", 0, {}, {})
    parts = urlsplit(url)
    said = dict(parse_qsl(parts.query))
    if unknown := set(said) - _MAY_SAY:
        raise ValueError(f"unknown after the '?': {', '.join(sorted(unknown))}")
    if not said.get("master"):
        raise ValueError("Sentinels watch several masters, and it does not say which: add ?master=NAME")
    shown, _, hosts = parts.netloc.rpartition("@")
    user, _, password = shown.partition(":")
    number = parts.path.strip("/")
    if number and not number.isdecimal():
        raise ValueError("after the hosts comes the number of the database, such as /0")
    return RedisAddress(
        url,
        tuple(_host(one) for one in hosts.split(",")),
        said["master"],
        int(number or 0),
        _who(unquote(user), unquote(password)),
        _who(said.get("sentinel_username", ""), said.get("sentinel_password", "")),
    )


def _host(text: str) -> tuple[str, int]:
    try:
        parts = urlsplit(f"//{text}")
        host, port = parts.hostname, parts.port
    except ValueError:
        raise ValueError("a port is no number") from None
    if not host:
        raise ValueError("a host between the commas is empty")
    return host, port or _SENTINEL_PORT


def _who(username: str, password: str) -> dict[str, str]:
    said = {"username": username, "password": password}
    return {name: value for name, value in said.items() if value}


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _socket_url(url: str) -> str:
    """kombu's own way to write a socket's path."""
    parts = urlsplit(url)
    database = dict(parse_qsl(parts.query)).get("db", "0")
    shown = f"{parts.netloc.rpartition('@')[0]}@" if "@" in parts.netloc else ""
    return f"redis+socket://{shown}{parts.path}?virtual_host={database}"
