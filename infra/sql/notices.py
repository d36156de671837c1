"""Hearing of commits without asking for them: one listener a process, on either database.

A notice can be lost, doubled or late. Who leans on it looks at the database now and then all the same.
"""

from __future__ import annotations

import asyncio
import random
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import structlog
from anyio import CapacityLimiter, to_thread
from sqlalchemy.engine import URL

from infra.sql.dialects import postgresql_arguments

log = structlog.get_logger(__name__)

TICK_S = 0.03
"""Between two looks at SQLite's counter, of some 10 µs each and a turn of a thread."""

AGAIN_S, AGAIN_CAP_S = 0.2, 10.0
"""The widest wait before a listener that was lost is tried again: doubled after each try that failed."""

Heard = Callable[[str | None], None]


class Notices(Protocol):
    """What a process hears of the commits of all."""

    async def run(self, heard: Heard, wanted: asyncio.Event) -> None:
        """Tell `heard` of each change until cancelled: what a trigger said, or None where anything may have
        changed, which also stands for all that was missed while there was no connection.

        While `wanted` is not set nothing waits, and nothing need be said.
        """


class PostgresqlNotices:
    """LISTEN on a connection of its own, which is made again whenever it is lost."""

    def __init__(self, url: URL, channel: str) -> None:
        self._arguments, self._channel = postgresql_arguments(url), channel

    async def run(self, heard: Heard, wanted: asyncio.Event) -> None:  # noqa: ARG002 (a connection that is not read would fill the server's queue)
        import psycopg
        from psycopg import sql

        listen = sql.SQL("LISTEN {}").format(sql.Identifier(self._channel))
        again_s = AGAIN_S
        while True:
            try:
                connection = await psycopg.AsyncConnection.connect(**self._arguments, autocommit=True)
                async with connection:
                    await connection.execute(listen)
                    again_s = AGAIN_S
                    heard(None)
                    async for notice in connection.notifies():
                        heard(notice.payload)
            except (psycopg.Error, OSError) as error:
                # Not its words: they name hosts and users.
                log.warning("notices.lost", error=type(error).__name__)
            await asyncio.sleep(again_s * random.uniform(0.5, 1))  # noqa: S311 (no secret)
            again_s = min(2 * again_s, AGAIN_CAP_S)


class SqliteNotices:
    """SQLite has no notices. But it counts the commits of all other connections, and reading the count costs
    microseconds and no query. So the connection is its own: it never sees a commit that was made on it."""

    def __init__(self, file: Path, tick_s: float = TICK_S) -> None:
        self._address, self._tick_s = f"{file.absolute().as_uri()}?mode=rw", tick_s
        self._connection: sqlite3.Connection | None = None

    async def run(self, heard: Heard, wanted: asyncio.Event) -> None:
        # Not the server's threads: those may all be busy, and a disk that hangs must not hold up the loop.
        limiter = CapacityLimiter(1)
        seen: int | None = None
        again_s = AGAIN_S
        try:
            while True:
                await wanted.wait()
                try:
                    count = await to_thread.run_sync(self._count, limiter=limiter)
                except sqlite3.Error as error:
                    log.warning("notices.lost", error=getattr(error, "sqlite_errorname", "sqlite3.Error"))
                    self._close()
                    seen = None  # the next connection counts from elsewhere
                    await asyncio.sleep(again_s)
                    again_s = min(2 * again_s, AGAIN_CAP_S)
                    continue
                if count != seen:
                    seen, again_s = count, AGAIN_S
                    heard(None)
                await asyncio.sleep(self._tick_s)
        finally:
            self._close()

    def _count(self) -> int:
        if self._connection is None:
            # No time to wait for a lock: WAL readers need none, and the next tick asks again.
            self._connection = sqlite3.connect(
                self._address, uri=True, timeout=0, isolation_level=None, check_same_thread=False
            )
        count: int = self._connection.execute("PRAGMA data_version").fetchone()[0]
        return count

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def notices(url: URL, channel: str) -> Notices:
    """What there is for the database at `url`. `channel`: where the triggers of PostgreSQL say it."""
    if url.get_backend_name() == "sqlite":
        return SqliteNotices(Path(str(url.database)))
    return PostgresqlNotices(url, channel)
