"""Passwords as argon2id hashes, with the library's own costs (RFC 9106, low memory: 64 MiB, 3 passes).

A hash takes 64 MiB and all cores for a while. So a process runs `AT_ONCE` of them, a short queue waits, and
further attempts are refused: sixty at once took 2.2 GB and blocked everyone. At most 14 of the API's 40
threads are busy with passwords.
"""

from __future__ import annotations

import base64
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from schemas.errors import SignInBusy

AT_ONCE = 2
# Waiting attempts: of anyone, and of known visitors, whose longer queue strangers can't fill.
QUEUE, KNOWN_QUEUE = 6, 12

_HASHER = PasswordHasher()


_turn, _lock = threading.BoundedSemaphore(AT_ONCE), threading.Lock()
_inside = 0


@contextmanager
def _queued(*, known: bool) -> Iterator[None]:
    """Hold one of `AT_ONCE` turns, in order of arrival.

    Raises:
        SignInBusy: the queue is full.
    """
    global _inside
    with _lock:
        if _inside >= AT_ONCE + (KNOWN_QUEUE if known else QUEUE):
            raise SignInBusy("Too many people are signing in", wait_s=2)
        _inside += 1
    try:
        with _turn:
            yield
    finally:
        with _lock:
            _inside -= 1


def readable_secret() -> str:
    """Return 80 random bits such as `mzxw-6ytb-oi3u-q5dl`: base 32 has no digits that are read as letters."""
    text = base64.b32encode(secrets.token_bytes(10)).decode().lower()
    return "-".join(text[i : i + 4] for i in range(0, len(text), 4))


def hash_password(password: str) -> str:
    """Return the hash to store, with its salt and costs.

    Raises:
        SignInBusy: the queue is full.
    """
    with _queued(known=True):
        return _HASHER.hash(password)


def verify_password(stored: str | None, password: str, *, known: bool = False) -> bool:
    """Return whether `password` matches the `stored` hash. A `known` visitor may wait in the longer queue.

    Without a stored hash a decoy is verified, so that an unknown name takes as long as a known one.

    Raises:
        SignInBusy: the queue is full.
    """
    with _queued(known=known):
        try:
            return _HASHER.verify(stored or _DECOY, password) and stored is not None
        except (VerificationError, InvalidHashError):
            return False


def _decoy() -> str:
    """Return a hash of no password. It is assembled, not computed: otherwise the first attempt under an
    unknown name would take twice as long as the others."""
    salt, digest = (
        base64.b64encode(secrets.token_bytes(size)).decode().rstrip("=")
        for size in (_HASHER.salt_len, _HASHER.hash_len)
    )
    costs = f"m={_HASHER.memory_cost},t={_HASHER.time_cost},p={_HASHER.parallelism}"
    return f"$argon2id$v=19${costs}${salt}${digest}"


_DECOY = _decoy()
