"""The interface of stores for recordings: a folder (`folder.py`) or a shared bucket (`bucket.py`).

A key exists only for a complete, durable recording, and its content never changes.
"""

from __future__ import annotations

import errno
import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from io import FileIO
from pathlib import Path
from typing import Protocol, Self

from schemas.errors import StorageFull

_KEY = re.compile(r"[0-9a-f]{32}", re.ASCII)


class StoreAway(OSError):
    """The store doesn't respond or refuses; the recording may exist. Only a bucket raises it; a folder raises
    the system's own OSError."""


class BlobWriter(ABC):
    """One recording being written, in a `with` that discards it unless committed. `size` in bytes and
    `sha256` in hex are of what was written so far, to a local file."""

    def __init__(self, file: FileIO, key: str) -> None:
        self._file, self._key = file, key
        self._hash = hashlib.sha256()
        self.size = 0

    @property
    def sha256(self) -> str:
        return self._hash.hexdigest()

    def write(self, data: bytes) -> None:
        """Append.

        Raises:
            StorageFull: no space left; what was written is discarded.
        """
        with self._or_discard():
            fill(self._file, data)
        self._hash.update(data)
        self.size += len(data)

    @abstractmethod
    def commit(self) -> str:
        """Make it durable and return its key.

        Raises:
            StorageFull: no space left; it is discarded.
            OSError: the store failed; it is discarded.
        """

    def discard(self) -> None:
        """Discard it; does nothing after a commit or a second time."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.discard()

    @contextmanager
    def _or_discard(self) -> Iterator[None]:
        try:
            with space():
                yield
        except BaseException:
            self.discard()
            raise


def fill(file: FileIO, data: bytes) -> None:
    """Append all of `data`; unbuffered files may accept a part at a time. Raises StorageFull."""
    view = memoryview(data)
    with space():
        while view:
            view = view[file.write(view) or 0 :]


@contextmanager
def space() -> Iterator[None]:
    """Raise StorageFull if the system is out of space (or quota)."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StorageFull("There is no space left for the recording.") from error
        raise


class Blobs(Protocol):
    """A store that many processes may use at once, on several machines if it is shared.

    Methods with a key raise ValueError for one of another format, such as `../../etc/passwd`, and OSError if
    the store fails.
    """

    def check(self) -> None:
        """Check that it is writable; raises OSError if it isn't."""
        ...

    def open(self) -> BlobWriter:
        """Return a writer for a new recording.

        Raises:
            StorageFull: no space for even an empty file.
        """
        ...

    def local(self, key: str) -> AbstractContextManager[Path]:
        """Yield the recording as a local file, for this process only, in a `with`; raises FileNotFoundError
        if it doesn't exist."""
        ...

    def delete(self, key: str) -> None:
        """Delete a recording, if it exists."""
        ...

    def older_than(self, seconds: float) -> Iterator[str]:
        """Yield the keys of recordings that are older than `seconds`."""
        ...

    def clear_leftovers(self) -> None:
        """Delete unfinished files of killed writers."""
        ...


def name_of(key: str) -> str:
    """Return a key's path in any store, `<its first two characters>/<key>`, so that stores can be copied.

    Raises:
        ValueError: not in our format.
    """
    if not is_key(key):
        raise ValueError("not a blob key")
    return f"{key[:2]}/{key}"


def is_key(name: str) -> bool:
    return bool(_KEY.fullmatch(name))
