"""The key of the machine's own commands, kept in the home: `saycart run` makes it, every command finds it."""

from __future__ import annotations

from pathlib import Path

from infra import private

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
    private.write(home / FILE, f"{token}\n")
    return home / FILE
