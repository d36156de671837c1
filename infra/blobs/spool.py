"""What every writer of a recording does: bytes go to a file here first, counted and hashed on the way."""

from __future__ import annotations

import errno
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from typing import Self

from infra.blobs.store import DiskFull


class Spooled:
    """A `BlobWriter` but for `commit`: `file` takes the bytes, and is dropped with an error."""

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
    """Append all of it; a file without a buffer may take a part at a time. Raises DiskFull."""
    view = memoryview(data)
    with space():
        while view:
            view = view[file.write(view) or 0 :]


@contextmanager
def space() -> Iterator[None]:
    """Raises DiskFull where the system says that there is no room."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(str(error)) from error
        raise
