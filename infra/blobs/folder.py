"""Recordings in a folder: written to `tmp/`, synced, then renamed to their key.

Leftovers of killed processes in `tmp/` are deleted by the next start or by the sweeper, once they are old.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from infra.blobs.store import BlobWriter, is_key, name_of, space

# Seconds since the last write after which an upload counts as abandoned.
_ABANDONED_S = 3600


class BlobFolder:
    """`Blobs`: a folder of immutable files, `<first two of key>/<key>`."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._tmp = root / "tmp"
        with space():
            self._tmp.mkdir(parents=True, exist_ok=True)
        self.clear_leftovers()

    def check(self) -> None:
        """See `Blobs.check`."""
        self.open().discard()

    def open(self) -> FolderWriter:
        """See `Blobs.open`."""
        return FolderWriter(self._root, self._tmp)

    @contextmanager
    def local(self, key: str) -> Iterator[Path]:
        """See `Blobs.local`: the file itself, which may be deleted while in use."""
        path = self.path(key)
        path.stat()
        yield path

    def path(self, key: str) -> Path:
        """Return the path of a key's file, whether or not it exists.

        Raises:
            ValueError: not a key of ours, such as `../../etc/passwd`.
        """
        return self._root / name_of(key)

    def delete(self, key: str) -> None:
        """See `Blobs.delete`; open readers can still read it to its end."""
        self.path(key).unlink(missing_ok=True)

    def older_than(self, seconds: float) -> Iterator[str]:
        """See `Blobs.older_than`."""
        for file in self._root.glob("??/*"):
            with suppress(FileNotFoundError):  # removed meanwhile
                if is_key(file.name) and time.time() - file.stat().st_mtime > seconds:
                    yield file.name

    def clear_leftovers(self) -> None:
        """See `Blobs.clear_leftovers`."""
        for file in self._tmp.iterdir():
            with suppress(OSError):  # another process clears too, or the writer has just committed
                if time.time() - file.stat().st_mtime > _ABANDONED_S:
                    file.unlink()


class FolderWriter(BlobWriter):
    """One file being written."""

    def __init__(self, root: Path, tmp: Path) -> None:
        self._root = root
        key = secrets.token_hex(16)
        self._tmp = tmp / key
        with space():
            file = self._tmp.open("xb", buffering=0)
        super().__init__(file, key)

    def commit(self) -> str:
        """See `BlobWriter.commit`."""
        final = self._root / name_of(self._key)
        with self._or_discard():
            os.fsync(self._file.fileno())
            if not final.parent.is_dir():
                final.parent.mkdir(exist_ok=True)
                _sync_directory(self._root)
            self._tmp.rename(final)
            # Otherwise the name may be lost in a power failure, though the bytes are safe.
            _sync_directory(final.parent)
        self._file.close()
        return self._key

    def discard(self) -> None:
        """See `BlobWriter.discard`."""
        if not self._file.closed:
            self._tmp.unlink(missing_ok=True)
            self._file.close()


def _sync_directory(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
