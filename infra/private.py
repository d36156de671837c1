"""Files that only this process's user can read: recordings are voices, the database has transcripts."""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path

import structlog

log = structlog.get_logger()

UMASK = 0o077
KEY_FILE = "key"
"""In the home: the key of this machine's own commands. `saycart run` writes it, every command reads it."""
_OTHERS = 0o077


def keep_private() -> None:
    """Set the umask: new files of this process and its children are closed to other users."""
    os.umask(UMASK)


def write(path: Path, text: str) -> None:
    """Replace a file atomically; it is readable by its owner alone at any moment."""
    write_temporary(path, text).replace(path)


def write_temporary(path: Path, text: str) -> Path:
    """Write `text` to a new file next to `path`, to be moved into its place; return the file."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    return temporary


def narrow(home: Path) -> bool:
    """Close a home that other users can read; return whether it was open. Failures are logged."""
    try:
        mode = stat.S_IMODE(home.stat().st_mode)
        if not mode & _OTHERS:
            return False
        if mode & stat.S_ISVTX:
            # Shared on purpose, such as /tmp.
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


def read_key(home: Path) -> str:
    """Return the token in the home, or an empty string."""
    try:
        return (home / KEY_FILE).read_text().strip()
    except OSError:
        return ""
