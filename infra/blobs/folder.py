"""Recordings in a folder: streamed in, synced, then renamed into place under an id of ours.

What a killed process leaves lies in `tmp/`, held by none, and is cleared when the next one starts, or by
the sweeper.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from infra.blobs.spool import Spooled, space
from infra.blobs.store import is_key, name_of

# A file this young may belong to a writer that has opened it and is about to lock it.
_YOUNG_S = 60
# Bytes of a piece that is read.
_PIECE = 1 << 18


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

    def opened(self, key: str) -> OpenedFile:
        """See `Blobs.opened`."""
        return OpenedFile(self.path(key))

    @contextmanager
    def local(self, key: str) -> Iterator[Path]:
        """See `Blobs.local`: the file itself. It may go while it is used."""
        path = self.path(key)
        path.stat()
        yield path

    def path(self, key: str) -> Path:
        """Where the file of a key is, whether or not it exists.

        Raises:
            NotABlob: not a key of ours, such as `../../etc/passwd`.
        """
        return self._root / name_of(key)

    def delete(self, key: str) -> None:
        """See `Blobs.delete`; who has it open reads it to its end."""
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
                if time.time() - file.stat().st_mtime < _YOUNG_S:
                    continue
                with file.open("rb") as handle:
                    # Refused while a living writer holds it, in whichever process.
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    file.unlink()


class OpenedFile:
    """`Opened`: a file that is open, so that it can be removed and is read to its end."""

    def __init__(self, path: Path) -> None:
        """Raises OSError."""
        self._file = path.open("rb", buffering=0)
        self.size = os.fstat(self._file.fileno()).st_size

    def pieces(self, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        """See `Opened.pieces`."""
        stop = self.size if stop is None else stop
        while start < stop and (piece := os.pread(self._file.fileno(), min(_PIECE, stop - start), start)):
            start += len(piece)
            yield piece

    def close(self) -> None:
        self._file.close()


class FolderWriter(Spooled):
    """`BlobWriter`: one file being written."""

    def __init__(self, root: Path, tmp: Path) -> None:
        self._root = root
        key = secrets.token_hex(16)
        self._tmp = tmp / key
        with space():
            file = self._tmp.open("xb", buffering=0)
        super().__init__(file, key)
        fcntl.flock(self._file, fcntl.LOCK_EX)

    def commit(self, media_type: str = "") -> str:  # noqa: ARG002 - nobody is served by a folder
        """See `BlobWriter.commit`."""
        final = self._root / name_of(self._key)
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
