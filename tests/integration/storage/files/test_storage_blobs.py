"""Recordings on disk."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from infra.blobs import folder
from infra.blobs.folder import BlobFolder
from infra.blobs.store import DiskFull


@pytest.fixture
def blobs(tmp_path: Path) -> BlobFolder:
    return BlobFolder(tmp_path / "recordings")


def files(blobs: BlobFolder) -> list[Path]:
    return [path for path in blobs._root.rglob("*") if path.is_file()]


def test_leftovers_of_the_dead_are_cleared(blobs: BlobFolder) -> None:
    code = (
        "import os, sys; from pathlib import Path; from infra.blobs.folder import BlobFolder\n"
        "w = BlobFolder(Path(sys.argv[1])).open(); w.write(b'x'); os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", code, blobs._root]).returncode == 9
    (left,) = files(blobs)
    long_ago = time.time() - 2 * folder._LEFT_S
    os.utime(left, (long_ago, long_ago))
    living = blobs.open()
    BlobFolder(blobs._root)
    assert len(files(blobs)) == 1, "the dead writer's file is gone, the living one's is not"
    key = living.commit()
    assert files(blobs) == [blobs.path(key)]


@pytest.mark.parametrize("where", ["write", "fsync"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk(blobs: BlobFolder, monkeypatch: pytest.MonkeyPatch, where: str, code: int) -> None:
    def full(_handle: object) -> None:
        raise OSError(code, os.strerror(code))

    with blobs.open() as writer:
        if where == "write":
            real = writer._file
            with real, open("/dev/full", "wb", buffering=0) as device:
                writer._file = device
                with pytest.raises(DiskFull):
                    writer.write(b"x" * 10)
        else:
            monkeypatch.setattr(os, "fsync", full)
            writer.write(b"x")
            with pytest.raises(DiskFull):
                writer.commit()
        assert files(blobs) == []
    monkeypatch.undo()
    with blobs.open() as writer:
        assert blobs.path(writer.commit()).read_bytes() == b""


def test_other_errors_stay_what_they_are(blobs: BlobFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_handle: object) -> None:
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(os, "fsync", broken)
    with blobs.open() as writer, pytest.raises(OSError, match="broken"):
        writer.commit()
    assert files(blobs) == []
