"""How often one may try to sign in, counted against what the attempts have in common.

An attempt counts against its address, against its name, and more strictly against both together (ADR 12).
One by a person who is signed in, and proves a password again, counts against that session alone. Each attempt
is counted before it is looked at, and taken back when it was right: guesses sent at once are counted each.
Names without an account are counted as all others.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import delete, update
from sqlalchemy.orm import Session

from infra.addresses import counted_as
from infra.sql.database import Database
from schemas.errors import TooManyAttempts
from services.storage.base.changes import writing
from services.storage.base.tables_staff import SignInRow

FIRST_WAIT_S = 2
# A row without an attempt for so long is removed; by then all of it is forgiven.
FORGET_S = 7 * 24 * 3600


@dataclass(frozen=True, slots=True)
class Limit:
    """`free` attempts cost no wait. Each one more doubles it, up to `longest_s`; one attempt is forgiven for
    every `forgive_s` without another."""

    free: int
    longest_s: int
    forgive_s: int

    def left(self, attempts: int, quiet_s: float) -> int:
        """Attempts that still count after so many seconds without one."""
        return max(0, attempts - int(quiet_s // self.forgive_s))

    def wait_s(self, attempts: int) -> float:
        """Seconds from the last of so many attempts to the next that is looked at."""
        over = attempts - self.free
        return 0.0 if over < 0 else float(min(FIRST_WAIT_S * 2 ** min(over, 20), self.longest_s))


# One person who mistypes; many people behind one address; a name that many addresses ask for.
NARROW = Limit(free=5, longest_s=300, forgive_s=720)
WIDE = Limit(free=20, longest_s=300, forgive_s=180)
# Short, so that guesses from many addresses slow the account's owner down and don't lock them out.
BY_NAME = Limit(free=30, longest_s=10, forgive_s=180)
# A code has a million values, and who guesses at it has the password: 24 guesses a day at last.
CODES = Limit(free=5, longest_s=3600, forgive_s=7200)
CODES_WIDE = Limit(free=20, longest_s=3600, forgive_s=7200)

Counted = tuple[str, ...]
"""Keys under which one attempt was counted."""


class Attempts:
    """The counts, in SQL: every process of every machine sees the same."""

    def __init__(self, database: Database) -> None:
        self._database = database.everywhere()

    def count(self, name: str, address: str, *, code: bool = False) -> Counted:
        """Count one attempt under `name`, by password or by `code`.

        Raises:
            TooManyAttempts: nothing was counted; the longest wait of those that apply.
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
        """As `count`, of a password that a signed-in person types again."""
        return self._count({_key("session", session_id, "password"): NARROW})

    def count_provider(self, address: str) -> Counted:
        """As `count`, of a sign-in by a provider, which has no name before it is looked at."""
        return self._count({_key("address", counted_as(address), "provider"): WIDE})

    def _count(self, limits: dict[str, Limit]) -> Counted:
        with writing(self._database) as (session, _):
            # Always in the same order: address, name, both.
            for key in limits:
                self._database.lock(session, f"sign-in:{key}")
            # After the locks: who waited for them began before the attempt that was counted meanwhile.
            now = self._database.now(session)
            session.execute(delete(SignInRow).where(SignInRow.last_at < now - timedelta(seconds=FORGET_S)))
            wait_s = 0.0
            for key, limit in limits.items():
                row = session.get(SignInRow, key)
                if row is None:
                    session.add(SignInRow(key=key, attempts=1, last_at=now))
                    continue
                quiet_s = (now - row.last_at).total_seconds()
                row.attempts = limit.left(row.attempts, quiet_s)
                wait_s = max(wait_s, limit.wait_s(row.attempts) - quiet_s)
                row.attempts += 1
                row.last_at = now
            if wait_s > 0:
                raise TooManyAttempts("Too many attempts", wait_s)
        return tuple(limits)

    def give_back(self, session: Session, counted: Counted) -> None:
        """Take back one attempt, which was right or was not looked at. Those before it count on: an account
        of one's own can't be used to guess at others' for ever."""
        for key in counted:
            self._database.lock(session, f"sign-in:{key}")
        mine = SignInRow.key.in_(counted)
        session.execute(update(SignInRow).where(mine).values(attempts=SignInRow.attempts - 1))
        session.execute(delete(SignInRow).where(mine, SignInRow.attempts <= 0))

    def forgive(self, session: Session, counted: Counted) -> None:
        """As `give_back`; what one person at one place mistyped before is forgotten as well."""
        self.give_back(session, counted)
        # The last key is the narrowest: the session, or name and address together.
        session.execute(delete(SignInRow).where(SignInRow.key == counted[-1]))

    def forget(self, session: Session, name: str) -> None:
        """Forget what counts against a name, from all addresses."""
        keys = [_key("name", name, kind) for kind in ("password", "code")]
        session.execute(delete(SignInRow).where(SignInRow.key.in_(keys)))


def _key(kind: str, of: str, step: str) -> str:
    # Hashed: people type their password into the wrong field, and addresses are personal data.
    return f"{step}:{kind}:{hashlib.sha256(of.encode()).hexdigest()[:32]}"
