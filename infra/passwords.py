"""Passwords as argon2id hashes, with the library's own costs (RFC 9106, low memory: 64 MiB, 3 passes)."""

from __future__ import annotations

from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

_HASHER = PasswordHasher()


def hash_password(password: str) -> str:
    """The hash to store; it names its own salt and costs."""
    return _HASHER.hash(password)


def verify_password(stored: str | None, password: str) -> bool:
    """Whether `password` made `stored`.

    Without a stored hash a made-up one is verified, so that an unknown name takes as long as a known one.
    """
    try:
        return _HASHER.verify(stored or _decoy(), password) and stored is not None
    except (VerificationError, InvalidHashError):
        return False


@cache
def _decoy() -> str:
    return _HASHER.hash("nobody's password")
