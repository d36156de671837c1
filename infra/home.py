"""The key of this machine's own commands, in the home: `saycart run` writes it, every command reads it."""

from __future__ import annotations

from pathlib import Path

from infra import private

FILE = "key"


def read_key(home: Path) -> str:
    """Return the token in the home, or an empty string."""
    try:
        return (home / FILE).read_text().strip()
    except OSError:
        return ""


def write_key(home: Path, token: str) -> Path:
    """Write the token, readable by this user alone; return the file.

    Raises:
        OSError: the home can't be written to.
    """
    private.write(home / FILE, f"{token}\n")
    return home / FILE
