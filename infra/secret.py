"""The home's secrets: the one that signs customers' links, and the key of this machine."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

from schemas.errors import InputError

_BYTES = 32
MIN_CHARS = 32
KEY_FILE = "key"
"""In the home: the key of this machine's own commands. `saycart run` writes it, every command reads it."""


def signing_keys(setting: str, home: Path) -> list[str]:
    """Return the secrets in itsdangerous's order: the last one signs.

    `setting` lists them, newest first; if it is empty, the home's own secret is read or generated.

    Raises:
        InputError: one is shorter than 32 characters.
        OSError: the home can't be written to.
    """
    configured = setting.split()
    if any(len(secret) < MIN_CHARS for secret in configured):
        raise InputError(
            f"SAYCART_SECRET: a secret has at least {MIN_CHARS} characters",
            hint="Generate one with: openssl rand -hex 32",
        )
    return configured[::-1] or [_stored(home / "secret")]


def _stored(file: Path) -> str:
    """Return the file's content, generated if missing. Safe when many processes start at once."""
    if not file.exists():
        with NamedTemporaryFile("w", dir=file.parent) as temporary:
            temporary.write(secrets.token_hex(_BYTES))
            temporary.flush()
            with suppress(FileExistsError):  # another process was faster
                os.link(temporary.name, file)
    return file.read_text()


def read_key(home: Path) -> str:
    """Return the token in the home, or an empty string."""
    try:
        return (home / KEY_FILE).read_text().strip()
    except OSError:
        return ""
