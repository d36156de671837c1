"""Base of all writers of recordings: bytes are counted, hashed and written to a local file first."""

from __future__ import annotations

import errno
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from typing import Self

from infra.blobs.store import DiskFull


class Spooled:
    """A `BlobWriter` without `commit`; its `file` is discarded on errors."""

    def __init__(self, file: FileIO, key: str) -> None:
        self._file, self._key = file, key
        self._hash = hashlib.sha256()
        self.size = 0

    @property
    def sha256(self) -> str:
        return self._hash.hexdigest()

    def write(self, data: bytes) -> None:
        """See `BlobWriter.write`."""
        with self._or_discard():
            fill(self._file, data)
        self._hash.update(data)
        self.size += len(data)

    def discard(self) -> None:
        """See `BlobWriter.discard`."""
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
    """Append all of `data`; unbuffered files may accept a part at a time. Raises DiskFull."""
    view = memoryview(data)
    with space():
        while view:
            view = view[file.write(view) or 0 :]


@contextmanager
def space() -> Iterator[None]:
    """Raise DiskFull if the system is out of space."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(str(error)) from error
        raise
