"""Named locks that a process holds over many transactions, for `Database.try_lock`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from filelock import FileLock, Timeout
from sqlalchemy import Engine, text

from infra.sql.dialects import neutral_errors
from schemas.errors import StorageUnavailable

# Seconds after which PostgreSQL releases the lock of an idle holder.
LOCK_S = 600
_TAKE = text(
    "SELECT pg_try_advisory_xact_lock(hashtextextended(:name, 0)), "
    f"set_config('idle_in_transaction_session_timeout', '{LOCK_S}s', true)"
)


@contextmanager
def next_to_file(file: str) -> Iterator[bool]:
    """Hold a lock on a file for the block; yields False if another process does.

    Raises:
        StorageUnavailable: the file can't be created.
    """
    lock = FileLock(file, blocking=False)
    try:
        with suppress(Timeout):
            lock.acquire()
    except OSError as error:
        raise StorageUnavailable(f"The lock file can't be created: {error}") from error
    try:
        yield lock.is_locked
    finally:
        lock.release()


@contextmanager
def on_server(engine: Engine, name: str) -> Iterator[bool]:
    """Hold PostgreSQL's lock of that name for the block, by a separate transaction; yields False if another
    connection does.

    Raises:
        StorageUnavailable: the database is down.
    """
    with neutral_errors(), engine.begin() as connection:
        yield bool(connection.scalar(_TAKE, {"name": name}))
