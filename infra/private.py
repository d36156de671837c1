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


def narrow(home: Path) -> bool:
    """Close a home that was open to other users, and with it all that is in it; return whether it was open.
    What can't be changed is logged."""
    try:
        mode = stat.S_IMODE(home.stat().st_mode)
        if not mode & _OTHERS:
            return False
        if mode & stat.S_ISVTX:
            # /tmp and its like are everybody's on purpose.
            log.warning("home.not_narrowed", path=str(home), error="it is shared by all (sticky)")
            return False
        home.chmod(mode & ~_OTHERS)
    except FileNotFoundError:
        return False
    except OSError as error:
        log.warning("home.not_narrowed", path=str(home), error=error.strerror)
        return False
    log.warning("home.narrowed", home=str(home))
    return True
