"""Named locks that a process holds over many transactions; `Database.try_lock` picks one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from filelock import FileLock, Timeout
from sqlalchemy import Engine, text

from infra.sql.dialects import neutral_errors
from schemas.errors import StorageUnavailable

# Seconds after which PostgreSQL takes a lock from a silent holder.
LOCK_S = 600
_TAKE = text(
    "SELECT pg_try_advisory_xact_lock(hashtextextended(:name, 0)), "
    f"set_config('idle_in_transaction_session_timeout', '{LOCK_S}s', true)"
)


@contextmanager
def next_to_file(file: str) -> Iterator[bool]:
    """Hold a lock on a file for the block; gives False when another process does.

    Raises:
        StorageUnavailable: the file can't be made.
    """
    lock = FileLock(file, blocking=False)
    try:
        with suppress(Timeout):
            lock.acquire()
    except OSError as error:
        raise StorageUnavailable(f"No place for a lock: {error}") from error
    try:
        yield lock.is_locked
    finally:
        lock.release()


@contextmanager
def on_server(engine: Engine, name: str) -> Iterator[bool]:
    """Hold PostgreSQL's lock of that name for the block, by a transaction of its own; gives False when
    another connection does.

    Raises:
        StorageUnavailable: not reachable, or no longer.
    """
    with neutral_errors(), engine.begin() as connection:
        yield bool(connection.scalar(_TAKE, {"name": name}))
