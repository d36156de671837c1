"""Limits on sign-in attempts, per address, per name, and more strictly for both together (ADR 12).

Someone who is signed in and proves their password counts against their session only. Each attempt is counted
before it is checked, so that parallel guesses count, and taken back if it was right. Names without an account
are treated the same.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import delete, update
from sqlalchemy.orm import Session

from infra.addresses import counted_as
from schemas.errors import TooManyAttempts
from services.storage.base.changes import writing
from services.storage.base.scoping import OfAllShops
from services.storage.base.tables_staff import SignInRow

FIRST_WAIT_S = 2
# Rows without an attempt for this long are deleted; all of it is forgiven by then.
FORGET_S = 7 * 24 * 3600


@dataclass(frozen=True, slots=True)
class Limit:
    """`free` attempts without a wait; each further one doubles the wait, up to `longest_s`. One attempt is
    forgiven every `forgive_s` seconds."""

    free: int
    longest_s: int
    forgive_s: int

    def remaining(self, attempts: int, quiet_s: float) -> int:
        """Return the attempts that still count after `quiet_s` seconds without one."""
        return max(0, attempts - int(quiet_s // self.forgive_s))

    def wait_s(self, attempts: int) -> float:
        """Return the seconds from the last attempt to the next one that is checked."""
        over = attempts - self.free
        return 0.0 if over < 0 else float(min(FIRST_WAIT_S * 2 ** min(over, 20), self.longest_s))


# For someone who mistypes; for many people behind one address.
NARROW = Limit(free=5, longest_s=300, forgive_s=720)
WIDE = Limit(free=20, longest_s=300, forgive_s=180)
# Short: guesses from many addresses may slow down the account's owner, but not lock them out.
BY_NAME = Limit(free=30, longest_s=10, forgive_s=180)
# Strict, since someone who guesses codes already has the password.
CODES = Limit(free=5, longest_s=3600, forgive_s=7200)
CODES_WIDE = Limit(free=20, longest_s=3600, forgive_s=7200)

Counted = tuple[str, ...]
"""Keys under which one attempt was counted."""


class Attempts(OfAllShops):
    """The counts, shared by all processes in the database."""

    def count(self, name: str, address: str, *, code: bool = False) -> Counted:
        """Count an attempt under `name`, by password or by `code`.

        Raises:
            TooManyAttempts: nothing was counted.
        """
        step, network = "code" if code else "password", counted_as(address)
        narrow, wide, by_name = (CODES, CODES_WIDE, CODES_WIDE) if code else (NARROW, WIDE, BY_NAME)
        return self._count(
            {
                _key("address", network, step): wide,
                _key("name", name, step): by_name,
                _key("both", f"{name}\n{network}", step): narrow,
            }
        )

    def count_session(self, session_id: str) -> Counted:
        """Count a password that a signed-in person enters again; raises as `count`."""
        return self._count({_key("session", session_id, "password"): NARROW})

    def count_provider(self, address: str) -> Counted:
        """Count a sign-in by a provider; raises as `count`."""
        return self._count({_key("address", counted_as(address), "provider"): WIDE})

    def _count(self, limits: dict[str, Limit]) -> Counted:
        with writing(self._database) as (session, _):
            # Always locked in the same order: address, name, both.
            for key in limits:
                self._database.lock(session, f"sign-in:{key}")
            now = self._database.now(session)  # after waiting for the locks
            session.execute(delete(SignInRow).where(SignInRow.last_at < now - timedelta(seconds=FORGET_S)))
            wait_s = 0.0
            for key, limit in limits.items():
                row = session.get(SignInRow, key)
                if row is None:
                    session.add(SignInRow(key=key, attempts=1, last_at=now))
                    continue
                quiet_s = (now - row.last_at).total_seconds()
                row.attempts = limit.remaining(row.attempts, quiet_s)
                wait_s = max(wait_s, limit.wait_s(row.attempts) - quiet_s)
                row.attempts += 1
                row.last_at = now
            if wait_s > 0:
                raise TooManyAttempts("Too many attempts", wait_s)
        return tuple(limits)

    def give_back(self, session: Session, counted: Counted) -> None:
        """Take back an attempt that was right or wasn't checked. Earlier ones still count, so that a right
        password for one account doesn't reset guesses at others."""
        for key in counted:
            self._database.lock(session, f"sign-in:{key}")
        mine = SignInRow.key.in_(counted)
        session.execute(update(SignInRow).where(mine).values(attempts=SignInRow.attempts - 1))
        session.execute(delete(SignInRow).where(mine, SignInRow.attempts <= 0))

    def forgive(self, session: Session, counted: Counted) -> None:
        """As `give_back`, and forget what was mistyped before in this session, or under this name from this
        address: the last key."""
        self.give_back(session, counted)
        session.execute(delete(SignInRow).where(SignInRow.key == counted[-1]))

    def forget(self, session: Session, name: str) -> None:
        """Forget all attempts against a name."""
        keys = [_key("name", name, kind) for kind in ("password", "code")]
        session.execute(delete(SignInRow).where(SignInRow.key.in_(keys)))


def _key(kind: str, of: str, step: str) -> str:
    # Hashed: addresses are personal data, and people type passwords into the wrong field.
    return f"{step}:{kind}:{hashlib.sha256(of.encode()).hexdigest()[:32]}"
