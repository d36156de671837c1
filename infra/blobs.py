"""Recordings on disk: streamed in, synced, then renamed into place under an id of ours.

A key exists only for a file that is whole and on disk. What a killed process leaves lies in `tmp/`, held by
nobody, and is cleared when the next one starts, or by the sweeper.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import re
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType

_KEY = re.compile(r"[0-9a-f]{32}", re.ASCII)
# A file this young may belong to a writer that has opened it and is about to lock it.
_YOUNG_S = 60


class DiskFull(Exception):
    """No space (or quota) left. Nothing was kept of what was being written."""


class NotABlob(ValueError):
    """A key that is not shaped like ours: never turned into a path."""


class Blobs:
    """A folder of immutable files, `<first two of key>/<key>`. Many processes may use it at once."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._tmp = root / "tmp"
        with _space():
            self._tmp.mkdir(parents=True, exist_ok=True)
        self.clear_leftovers()

    def open(self) -> BlobWriter:
        """A writer for one new file; use it in a `with`, which discards what was not committed.

        Raises:
            DiskFull: no space for even an empty file.
        """
        return BlobWriter(self._root, self._tmp)

    def path(self, key: str) -> Path:
        """Where the file of a key is, whether or not it exists.

        Raises:
            NotABlob: not a key of ours, such as `../../etc/passwd`.
        """
        if not _KEY.fullmatch(key):
            raise NotABlob("not a blob key")
        return self._root / key[:2] / key

    def delete(self, key: str) -> None:
        """Remove a file; one that is gone already is fine, and who has it open reads it to its end.

        Raises:
            NotABlob: as in `path`.
        """
        self.path(key).unlink(missing_ok=True)

    def older_than(self, seconds: float) -> Iterator[str]:
        """Keys of the files that were written longer ago than that."""
        for file in self._root.glob("??/*"):
            with suppress(FileNotFoundError):  # removed meanwhile
                if _KEY.fullmatch(file.name) and time.time() - file.stat().st_mtime > seconds:
                    yield file.name

    def clear_leftovers(self) -> None:
        """Remove what killed writers have left half written; living ones hold theirs."""
        for file in self._tmp.iterdir():
            with suppress(OSError):  # another process clears too, or the writer has just committed
                if time.time() - file.stat().st_mtime < _YOUNG_S:
                    continue
                with file.open("rb") as handle:
                    # Refused while a living writer holds it, in whichever process.
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    file.unlink()


class BlobWriter:
    """One file being written. `size` is in bytes, `sha256` in hex, both of what was written so far."""

    def __init__(self, root: Path, tmp: Path) -> None:
        self._root = root
        self._key = secrets.token_hex(16)
        self._tmp = tmp / self._key
        self._hash = hashlib.sha256()
        self.size = 0
        with _space():
            self._file = self._tmp.open("xb", buffering=0)
        fcntl.flock(self._file, fcntl.LOCK_EX)

    @property
    def sha256(self) -> str:
        return self._hash.hexdigest()

    def write(self, data: bytes) -> None:
        """Append.

        Raises:
            DiskFull: no space left; the file is discarded.
        """
        view = memoryview(data)
        with self._or_discard():
            while view:
                view = view[self._file.write(view) or 0 :]
        self._hash.update(data)
        self.size += len(data)

    def commit(self) -> str:
        """Make the file durable and give its key.

        Raises:
            DiskFull: no space left; the file is discarded.
        """
        final = self._root / self._key[:2] / self._key
        with self._or_discard():
            os.fsync(self._file.fileno())
            if not final.parent.is_dir():
                final.parent.mkdir(exist_ok=True)
                _sync_directory(self._root)
            self._tmp.rename(final)
            # Without this the name may be lost in a power cut, though the bytes are safe.
            _sync_directory(final.parent)
        self._file.close()
        return self._key

    def discard(self) -> None:
        """Drop what was written; does nothing after a commit or a second time."""
        if not self._file.closed:
            self._tmp.unlink(missing_ok=True)
            self._file.close()

    def __enter__(self) -> BlobWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.discard()

    @contextmanager
    def _or_discard(self) -> Iterator[None]:
        try:
            with _space():
                yield
        except BaseException:
            self.discard()
            raise


@contextmanager
def _space() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(str(error)) from error
        raise


def _sync_directory(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
