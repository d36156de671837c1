"""Log files that children write to, kept from growing without end while the children run.

A child and its own children hold the file open for as long as they live, so it can't be renamed away: what
is in it is copied to `<name>.log.1` and the file is cut to nothing. That is safe because each holds it in
append mode, where the kernel sets every write at the end that the file then has. Lines that are written
between the last copy and the cut, a moment later, are lost.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

KEPT = 3
"""Older pieces of a log that are kept: `.log.1` is the newest."""
_PIECE = 1 << 20
# How often what came meanwhile is copied too; a child that writes faster than that is cut off all the same.
_ROUNDS = 3


def rotate(path: Path, cap: int) -> bool:
    """Put the log aside if it has over `cap` bytes; whether it had. Of one that is twice as long and more,
    the last whole lines are kept: a part takes about `KEPT` + 1 times `cap` bytes, in a flood twice that.

    Never fails: on a full disk the log is cut without a copy, which makes room.
    """
    try:
        if path.stat().st_size <= cap:
            return False
        with path.open("r+b") as log:
            with suppress(OSError):
                _put_aside(path, log.fileno(), cap)
            log.truncate(0)
    except OSError:
        return False  # gone, or not ours to change
    return True


def piece(path: Path, number: int) -> Path:
    """Where the `number`th older piece of a log is."""
    return path.with_name(f"{path.name}.{number}")


def _put_aside(path: Path, log: int, cap: int) -> None:
    half = piece(path, 0)
    try:
        with half.open("wb") as copy:
            room = 2 * cap
            at = _line_after(log, os.fstat(log).st_size - room)
            for _ in range(_ROUNDS):
                while room and (data := os.pread(log, min(_PIECE, room), at)):
                    copy.write(data)
                    at, room = at + len(data), room - len(data)
        for number in range(KEPT, 1, -1):
            with suppress(FileNotFoundError):
                piece(path, number - 1).replace(piece(path, number))
        half.replace(piece(path, 1))
    finally:
        half.unlink(missing_ok=True)


def _line_after(log: int, at: int) -> int:
    """Where the first whole line after byte `at` begins; `at` itself where none ends soon, at least 0."""
    if at <= 0:
        return 0
    return at + 1 + os.pread(log, _PIECE, at).find(b"\n")
