"""The key of the machine's own commands, kept in the home: `saycart run` makes it, every command finds it."""

from __future__ import annotations

import os
from pathlib import Path

FILE = "key"


def kept_key(home: Path) -> str:
    """The token in the home, empty where there is none."""
    try:
        return (home / FILE).read_text().strip()
    except OSError:
        return ""


def keep_key(home: Path, token: str) -> Path:
    """Put the token there, readable by this user alone; the file.

    Raises:
        OSError: the home can't be written to.
    """
    made = home / f"{FILE}.{os.getpid()}"
    descriptor = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as handle:
        handle.write(f"{token}\n")
    made.replace(home / FILE)
    return home / FILE
