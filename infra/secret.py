"""The secret that signs what we hand to customers: given, or made once and kept in the home."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from infra import private
from schemas.errors import InputError

_BYTES = 32
MIN_CHARS = 32


def signing_keys(given: str, home: Path) -> list[str]:
    """The secrets, the one that signs last, as itsdangerous takes them.

    `given` names them with the newest first; where it is empty, the home's own is made or read.

    Raises:
        InputError: one is shorter than 32 characters.
        OSError: the home can't be written to.
    """
    named = given.split()
    if any(len(secret) < MIN_CHARS for secret in named):
        raise InputError(
            f"SAYCART_SECRET: a secret has at least {MIN_CHARS} characters",
            hint="Make one with: openssl rand -hex 32",
        )
    return named[::-1] or [_kept(home / "secret")]


def _kept(file: Path) -> str:
    """The file's content; written whole, under another name first, since many processes may begin at once."""
    try:
        return file.read_text()
    except FileNotFoundError:
        pass
    made = private.beside(file, secrets.token_hex(_BYTES))
    try:
        os.link(made, file)  # unlike a rename it fails where another was faster, and theirs is kept
    except FileExistsError:
        pass
    finally:
        made.unlink()
    return file.read_text()
