"""Files for this process's user alone: recordings are voices, and the database has what was said."""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path

import structlog

log = structlog.get_logger()

UMASK = 0o077
_OTHERS = 0o077
# What we write in a home. Whatever else lies there was not put there by us, and is left alone.
_OURS = (
    "saycart.db*",
    "ports.json",
    "recordings",
    "redis",
    "logs",
    "run",
    "key",
    "secret",
    "*.key",
    "*.secret",
)


def keep_private() -> None:
    """From here on, files and folders that this process and its children make are closed to other users."""
    os.umask(UMASK)


def write(path: Path, text: str) -> None:
    """Replace a file in one step, for its owner's eyes alone at every moment of it."""
    beside(path, text).replace(path)


def beside(path: Path, text: str) -> Path:
    """The same content under a name of its own next to `path`, whole, to be put in its place."""
    half = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    with os.fdopen(os.open(half, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    return half


def narrow(home: Path) -> int:
    """Close a home of ours, which an earlier release or an open umask may have left open; how many files and
    folders were. What can't be changed, since it is another user's, is logged.

    The home itself is closed first, which closes all of it at once. A folder in it that is closed is taken to
    be closed to its bottom, so that a start looks at few files.
    """
    if not home.is_dir():
        return 0
    changed = _close(home)
    for pattern in _OURS:
        for path in home.glob(pattern):
            changed += _narrow(path)
    if changed:
        log.warning("home.narrowed", home=str(home), changed=changed)
    return changed


def _narrow(path: Path) -> int:
    """From the bottom up: a folder that is closed says that all in it is."""
    try:
        found = path.lstat()
        if stat.S_ISLNK(found.st_mode):
            return 0
        inside = 0
        if stat.S_ISDIR(found.st_mode) and found.st_mode & _OTHERS:
            with os.scandir(path) as entries:
                inside = sum(_narrow(Path(entry.path)) for entry in entries)
    except FileNotFoundError:  # removed meanwhile
        return 0
    except OSError as error:
        log.warning("home.not_narrowed", path=str(path), error=error.strerror)
        return 0
    return inside + _close(path)


def _close(path: Path) -> int:
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
        if not mode & _OTHERS:
            return 0
        if mode & stat.S_ISVTX:
            # /tmp and its like are everybody's on purpose.
            log.warning("home.not_narrowed", path=str(path), error="it is shared by all (sticky)")
            return 0
        path.chmod(mode & ~_OTHERS)
    except FileNotFoundError:
        return 0
    except OSError as error:
        log.warning("home.not_narrowed", path=str(path), error=error.strerror)
        return 0
    return 1
