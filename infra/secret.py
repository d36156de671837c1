"""The secret that signs customers' links: from the settings, or generated once and stored in the home."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from infra import private
from schemas.errors import InputError

_BYTES = 32
MIN_CHARS = 32


def signing_keys(setting: str, home: Path) -> list[str]:
    """Return the secrets, the one that signs last, as itsdangerous takes them.

    `setting` lists them, the newest first; if it is empty, the home's own secret is read or generated.

    Raises:
        InputError: one is shorter than 32 characters.
        OSError: the home can't be written to.
    """
    named = setting.split()
    if any(len(secret) < MIN_CHARS for secret in named):
        raise InputError(
            f"SAYCART_SECRET: a secret has at least {MIN_CHARS} characters",
            hint="Make one with: openssl rand -hex 32",
        )
    return named[::-1] or [_stored(home / "secret")]


def _stored(file: Path) -> str:
    """Return the file's content, generated if missing. Safe when many processes start at once."""
    try:
        return file.read_text()
    except FileNotFoundError:
        pass
    temporary = private.write_temporary(file, secrets.token_hex(_BYTES))
    try:
        os.link(temporary, file)  # unlike a rename it fails if another process was faster
    except FileExistsError:
        pass
    finally:
        temporary.unlink()
    return file.read_text()
