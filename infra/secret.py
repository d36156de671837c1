"""The secret that signs what we hand to customers: given, or made once and kept in the home."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from infra import private

_BYTES = 32
MIN_CHARS = 32


class WeakSecret(ValueError):
    """A secret that is set and too short to sign with."""


def signing_keys(given: str, home: Path) -> list[str]:
    """The secrets, the one that signs last, as itsdangerous takes them.

    `given` names them with the newest first; where it is empty, the home's own is made or read.

    Raises:
        WeakSecret: one is shorter than 32 characters.
        OSError: the home can't be written to.
    """
    named = given.split()
    if any(len(secret) < MIN_CHARS for secret in named):
        raise WeakSecret(f"a secret has at least {MIN_CHARS} characters")
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
