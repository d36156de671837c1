"""Recordings, wherever they are kept: what a store of them offers.

A key exists only for a recording that is whole and durable, and what it names never changes. Two stores are
such: a folder (`folder.py`) and a bucket that machines share (`bucket.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol, Self

_KEY = re.compile(r"[0-9a-f]{32}", re.ASCII)


class DiskFull(Exception):
    """No space (or quota) left. Nothing was kept of what was being written."""


class NotABlob(ValueError):
    """A key that is not shaped like ours: never turned into a path or the name of an object."""


class StoreAway(OSError):
    """The store does not answer, or refuses: it may have the recording all the same. Only a bucket raises it;
    what a folder's disk can't do is the system's own OSError."""


class BlobWriter(Protocol):
    """One recording being written; use it in a `with`, which discards what was not committed. `size` is in
    bytes, `sha256` in hex, both of what was written so far."""

    size: int

    @property
    def sha256(self) -> str: ...

    def write(self, data: bytes) -> None:
        """Append.

        Raises:
            DiskFull: no space left; what was written is discarded.
        """
        ...

    def commit(self, media_type: str = "application/octet-stream") -> str:
        """Make it durable and give its key. `media_type` is for stores that serve it themselves.

        Raises:
            DiskFull: no space left; it is discarded.
            OSError: the store did not take it; it is discarded.
        """
        ...

    def discard(self) -> None:
        """Drop what was written; does nothing after a commit or a second time."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...


class Opened(Protocol):
    """A recording to be read; `size` in bytes. From a folder it is read to its end even if it is removed
    meanwhile, from a bucket the next piece is not found."""

    size: int

    def pieces(self, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        """The bytes from `start` up to, not with, `stop`; to the end where that is None.

        Raises:
            FileNotFoundError: it was removed meanwhile.
            OSError: the store does not answer.
        """
        ...

    def close(self) -> None: ...


class Blobs(Protocol):
    """A store. Many processes, on many machines where they share it, may use it at once.

    Whatever takes a key raises NotABlob for one that is not of ours, such as `../../etc/passwd`, and OSError
    where the store can't do it now.
    """

    def check(self) -> None:
        """See that it can be written to, before the first order.

        Raises:
            OSError: it can't.
        """
        ...

    def open(self) -> BlobWriter:
        """A writer for one new recording.

        Raises:
            DiskFull: no space for even an empty file.
        """
        ...

    def opened(self, key: str) -> Opened:
        """The recording, to be read here.

        Raises:
            FileNotFoundError: it is not there.
        """
        ...

    def local(self, key: str) -> AbstractContextManager[Path]:
        """The recording as a file of this machine, for the length of a `with`, to be opened by this process.

        Raises:
            FileNotFoundError: it is not there.
        """
        ...

    def delete(self, key: str) -> None:
        """Remove a recording; one that is gone already is fine."""
        ...

    def older_than(self, seconds: float) -> Iterator[str]:
        """Keys of the recordings that were written longer ago than that."""
        ...

    def clear_leftovers(self) -> None:
        """Remove what killed writers have left half written; living ones hold theirs."""
        ...


def name_of(key: str) -> str:
    """Where a key is in any store: `<first two of it>/<key>`, so that a copy of one is another.

    Raises:
        NotABlob: not a key of ours.
    """
    if not is_key(key):
        raise NotABlob("not a blob key")
    return f"{key[:2]}/{key}"


def is_key(name: str) -> bool:
    return bool(_KEY.fullmatch(name))
