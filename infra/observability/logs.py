"""Rotation of log files that running children write to.

A child and its own children keep the file open, so it can't be renamed: its content is copied to
`<name>.log.1`, and the file is truncated. That is safe because all writers are in append mode. Lines written
between the copy and the truncation are lost.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

BACKUPS = 3
"""Number of rotated files that are kept; `.log.1` is the newest."""


def rotate(path: Path, cap: int) -> bool:
    """Rotate the log if it is over `cap` bytes; return whether it was. Only the last whole lines of a log
    over twice that size are kept, so all files of a part take `BACKUPS` + 1 times `cap` bytes, at worst
    twice that.

    Never fails: on a full disk the log is truncated without a copy, which frees space.
    """
    try:
        if path.stat().st_size <= cap:
            return False
        with path.open("r+b") as log:
            with suppress(OSError):
                _back_up(path, _last_lines(log.fileno(), 2 * cap))
            log.truncate(0)
    except OSError:
        return False  # gone, or not ours to change
    return True


def backup(path: Path, number: int) -> Path:
    """Return the path of the `number`th backup of a log."""
    return path.with_name(f"{path.name}.{number}")


def _last_lines(log: int, most: int) -> bytes:
    """Return the last whole lines, of at most `most` bytes."""
    at = max(0, os.fstat(log).st_size - most)
    text = os.pread(log, most, at)
    return text if at == 0 else text[text.find(b"\n") + 1 :]


def _back_up(path: Path, lines: bytes) -> None:
    unfinished = backup(path, 0)
    try:
        unfinished.write_bytes(lines)
        for number in range(BACKUPS, 1, -1):
            with suppress(FileNotFoundError):
                backup(path, number - 1).replace(backup(path, number))
        unfinished.replace(backup(path, 1))
    finally:
        unfinished.unlink(missing_ok=True)
