"""Recordings on disk."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from pathlib import Path
from unittest.mock import Mock

import pytest

from infra.blobs import folder
from infra.blobs.folder import BlobFolder
from schemas.errors import StorageFull


@pytest.fixture
def blobs(tmp_path: Path) -> BlobFolder:
    return BlobFolder(tmp_path / "recordings")


def files(blobs: BlobFolder) -> list[Path]:
    return [path for path in blobs._root.rglob("*") if path.is_file()]


def test_abandoned_uploads_are_deleted(blobs: BlobFolder) -> None:
    code = (
        "import os, sys; from pathlib import Path; from infra.blobs.folder import BlobFolder\n"
        "w = BlobFolder(Path(sys.argv[1])).open(); w.write(b'x'); os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", code, blobs._root]).returncode == 9
    (left,) = files(blobs)
    long_ago = time.time() - 2 * folder._ABANDONED_S
    os.utime(left, (long_ago, long_ago))
    living = blobs.open()
    BlobFolder(blobs._root)
    assert len(files(blobs)) == 1, "the dead writer's file is gone, the living one's is not"
    key = living.commit()
    assert files(blobs) == [blobs.path(key)]


def test_a_full_disk_during_a_write(blobs: BlobFolder) -> None:
    with blobs.open() as writer, writer._file, open("/dev/full", "wb", buffering=0) as device:
        writer._file = device
        with pytest.raises(StorageFull):
            writer.write(b"x" * 10)
        assert files(blobs) == []


@pytest.mark.parametrize(
    ("code", "error"), [(errno.ENOSPC, StorageFull), (errno.EDQUOT, StorageFull), (errno.EIO, OSError)]
)
def test_a_disk_error_at_commit(
    blobs: BlobFolder, monkeypatch: pytest.MonkeyPatch, code: int, error: type[Exception]
) -> None:
    monkeypatch.setattr(os, "fsync", Mock(side_effect=OSError(code, os.strerror(code))))
    with blobs.open() as writer, pytest.raises(error):
        writer.commit()
    assert files(blobs) == []
