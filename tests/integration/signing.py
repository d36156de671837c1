"""Helpers for sign-in tests: cheap hashes, a signed-in client, and authenticator codes."""

from __future__ import annotations

import re
import threading
import time
from typing import Any

import httpx
import pyotp
import pytest
from argon2 import PasswordHasher

from infra import passwords
from infra.sql.database import Database
from services.storage.people.sign_in import SignIns

PASSWORD = "correct horse battery"
HOUR_S = 3600.0
HERE = "192.0.2.1"
STEP_S = 30


class Counting:
    """The real argon2 at low cost; counts concurrent hashes."""

    def __init__(self, pause_s: float = 0.0) -> None:
        self._real = PasswordHasher(time_cost=1, memory_cost=64, parallelism=1)
        self._pause_s = pause_s
        self._lock = threading.Lock()
        self.now = self.most = self.all = 0

    def hash(self, password: str) -> str:
        return self._real.hash(password)

    def verify(self, stored: str, password: str) -> bool:
        with self._lock:
            self.now += 1
            self.all += 1
            self.most = max(self.most, self.now)
        try:
            time.sleep(self._pause_s)
            return self._real.verify(stored, password)
        finally:
            with self._lock:
                self.now -= 1

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


def cheap(monkeypatch: pytest.MonkeyPatch, pause_s: float = 0.0) -> Counting:
    """Hash at low cost in this test, and count hashes."""
    counting = Counting(pause_s)
    monkeypatch.setattr(passwords, "_HASHER", counting)
    monkeypatch.setattr(passwords, "_DECOY", passwords._decoy())
    return counting


def enter(
    sign_ins: SignIns,
    address: str = HERE,
    *,
    name: str = "Ann",
    password: str = PASSWORD,
    lasting_s: float = HOUR_S,
) -> str:
    """Sign in with a password alone; return the session's token."""
    token = sign_ins.by_password(name, password, address, lasting_s)
    assert isinstance(token, str)
    return token


def code_at(database: Database, secret: str, steps: int = 0) -> str:
    """Return the authenticator's code `steps` half minutes from now, by the database's clock.

    Waits for the next half minute if this one is about to end.
    """
    with database.everywhere().read() as session:
        now = database.now(session)
    if (left := STEP_S - now.timestamp() % STEP_S) < 3:
        time.sleep(left + 0.1)
        return code_at(database, secret, steps)
    return pyotp.TOTP(secret).at(now, counter_offset=steps)


def csrf_in(page: httpx.Response) -> str:
    """Return the CSRF token of a page's forms."""
    found = re.search(r'name="csrf" value="([0-9a-f]{64})"', page.text)
    assert found is not None, page.text
    return found[1]
