"""Rotation of log files that running children write to.

A child and its own children keep the file open, so it can't be renamed: its content is copied to
`<name>.log.1`, and the file is truncated. That is safe because all writers are in append mode. Lines written
between the last copy and the truncation are lost.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

BACKUPS = 3
"""Number of rotated files that are kept; `.log.1` is the newest."""
_CHUNK = 1 << 20
# Rounds of copying what was written meanwhile; a child that writes faster loses lines.
_ROUNDS = 3


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
                _back_up(path, log.fileno(), cap)
            log.truncate(0)
    except OSError:
        return False  # gone, or not ours to change
    return True


def backup(path: Path, number: int) -> Path:
    """Return the path of the `number`th backup of a log."""
    return path.with_name(f"{path.name}.{number}")


def _back_up(path: Path, log: int, cap: int) -> None:
    unfinished = backup(path, 0)
    try:
        with unfinished.open("wb") as copy:
            left = 2 * cap
            at = _line_after(log, os.fstat(log).st_size - left)
            for _ in range(_ROUNDS):
                while left and (data := os.pread(log, min(_CHUNK, left), at)):
                    copy.write(data)
                    at, left = at + len(data), left - len(data)
        for number in range(BACKUPS, 1, -1):
            with suppress(FileNotFoundError):
                backup(path, number - 1).replace(backup(path, number))
        unfinished.replace(backup(path, 1))
    finally:
        unfinished.unlink(missing_ok=True)


def _line_after(log: int, at: int) -> int:
    """Return the start of the first whole line after byte `at`; `at` itself if no line ends soon."""
    if at <= 0:
        return 0
    return at + 1 + os.pread(log, _CHUNK, at).find(b"\n")
