"""Passwords as argon2id hashes, with the library's own costs (RFC 9106, low memory: 64 MiB, 3 passes).

A hash takes 64 MiB and every core for a while, so `AT_ONCE` run in one process, a short line waits, and
whoever comes then is sent away at once: sixty attempts side by side took 2.2 GB, and everybody waited. So
at most 14 of the API's 40 threads are busy with passwords.
"""

from __future__ import annotations

import base64
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

AT_ONCE = 2
# Who may wait beside those: anybody, and whoever was here before. Strangers can't fill the second line.
LINE, KNOWN_LINE = 6, 12

_HASHER = PasswordHasher()


class PasswordsBusy(Exception):
    """So many hash and wait already that this one was not begun."""


class Turns:
    """Turns at the hashing, in one process."""

    def __init__(self) -> None:
        self._turn = threading.BoundedSemaphore(AT_ONCE)
        self._lock = threading.Lock()
        self._inside = 0

    @contextmanager
    def one(self, *, known: bool) -> Iterator[None]:
        """Hold one of `AT_ONCE` turns, after those who came before.

        Raises:
            PasswordsBusy: the line is full.
        """
        with self._lock:
            if self._inside >= AT_ONCE + (KNOWN_LINE if known else LINE):
                raise PasswordsBusy
            self._inside += 1
        try:
            with self._turn:
                yield
        finally:
            with self._lock:
                self._inside -= 1


_TURNS = Turns()


def hash_password(password: str) -> str:
    """The hash to store; it names its own salt and costs.

    Raises:
        PasswordsBusy: see there.
    """
    with _TURNS.one(known=True):
        return _HASHER.hash(password)


def verify_password(stored: str | None, password: str, *, known: bool = False) -> bool:
    """Whether `password` made `stored`. `known`: whoever asks was here before, and may wait in a longer line.

    Without a stored hash a made-up one is verified, so that an unknown name takes as long as a known one.

    Raises:
        PasswordsBusy: see there.
    """
    with _TURNS.one(known=known):
        try:
            return _HASHER.verify(stored or _DECOY, password) and stored is not None
        except (VerificationError, InvalidHashError):
            return False


def _decoy() -> str:
    """A hash of nobody's password. It is put together and not computed: the first attempt under an unknown
    name would take twice as long as all others."""
    salt, digest = (
        base64.b64encode(secrets.token_bytes(size)).decode().rstrip("=")
        for size in (_HASHER.salt_len, _HASHER.hash_len)
    )
    costs = f"m={_HASHER.memory_cost},t={_HASHER.time_cost},p={_HASHER.parallelism}"
    return f"$argon2id$v=19${costs}${salt}${digest}"


_DECOY = _decoy()
