"""Staff: accounts, signing in, sessions. A session is a row, so that it can be ended from here at once.

The cookie holds a random token and the row its SHA-256: who reads the database can't sign in with it. Too
many wrong passwords for one name make that name wait, known or not, so that the answer tells nobody which
names exist. An attempt is counted before the password is looked at: guesses sent side by side are counted
each.
"""

from __future__ import annotations

import builtins
import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from infra.database import Database
from infra.passwords import hash_password, verify_password
from schemas.access import MAIN_SHOP, ROLE_SCOPES, Access, Role
from schemas.audit import UNKNOWN, Actor
from schemas.errors import Conflict, InputError, NotFound, TooManyAttempts
from services.storage.audit import record
from services.storage.changes import reading, writing
from services.storage.ids import new_id
from services.storage.tables import ShopRow, SignInRow, StaffRow, StaffSessionRow

MAX_NAME_CHARS = 80
MIN_PASSWORD_CHARS, MAX_PASSWORD_CHARS = 10, 200
# So many wrong passwords are free; each one more doubles the wait, up to the longest.
FREE_ATTEMPTS = 5
FIRST_WAIT_S, LONGEST_WAIT_S = 2, 300
# Attempts are forgotten after so long without another.
FORGET_S = 3600


@dataclass(frozen=True, slots=True)
class Staff:
    """One account; `disabled_at` is None while it may sign in."""

    id: str
    shop: str
    name: str
    role: Role
    created_at: datetime
    disabled_at: datetime | None

    @property
    def access(self) -> Access:
        """What the person may do."""
        scopes = ROLE_SCOPES[self.role]
        return Access(shop=self.shop, actor=f"staff:{self.name}", scopes=scopes, person=self.name)


class StaffStore:
    """Every call is one transaction or two, and may raise StorageUnavailable beside what it names."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(
        self,
        name: str,
        password: str,
        *,
        shop: str = MAIN_SHOP,
        role: Role = Role.REVIEWER,
        by: Actor | None = None,
    ) -> Staff:
        """Make an account of a shop. Its name is one person's in all shops, since it stands in records.

        Raises:
            NotFound: no such shop.
            InputError: an empty or overlong name, or a password that is too short or too long.
            Conflict: the name is taken, if only by a disabled account: a name in old records is one person's.
        """
        name = name.strip()
        if not 1 <= len(name) <= MAX_NAME_CHARS or not name.isprintable():
            raise InputError(f"A name has 1 to {MAX_NAME_CHARS} printable characters")
        hashed = hash_password(_fit(password))
        with writing(self._database) as (session, now):
            self._database.lock(session, f"staff:{name}")
            if _named(session, name) is not None:
                raise Conflict(
                    f"There is an account {name!r} already", hint="Choose another name; names stay taken."
                )
            if session.get(ShopRow, shop) is None:
                raise NotFound(f"No shop {shop[:60]}", hint="`saycart shops list` shows all.")
            row = StaffRow(
                id=new_id("stf"),
                shop_id=shop,
                role=role.value,
                name=name,
                password_hash=hashed,
                created_at=now,
            )
            session.add(row)
            session.flush()
            _told(self._database, session, now, by, "account.added", row, None, {"disabled": False})
            return _staff(row)

    def list(self) -> builtins.list[Staff]:
        """Every account by name, disabled ones included."""
        with reading(self._database) as session:
            return [_staff(row) for row in session.scalars(select(StaffRow).order_by(StaffRow.name))]

    def disable(self, name: str, *, by: Actor | None = None) -> Staff:
        """Shut an account and end its sessions; its name stays in what it decided.

        Raises:
            NotFound: no such account.
        """
        with writing(self._database) as (session, now):
            row = _existing(session, name)
            was = row.disabled_at is not None
            row.disabled_at = row.disabled_at or now
            _end_sessions(session, row)
            flag = {"disabled": was}
            _told(self._database, session, now, by, "account.disabled", row, flag, {"disabled": True})
            return _staff(row)

    def set_password(self, name: str, password: str, *, by: Actor | None = None) -> Staff:
        """Give an account a new password and end its sessions.

        Raises:
            NotFound: no such account.
            InputError: as `add`.
        """
        hashed = hash_password(_fit(password))
        with writing(self._database) as (session, now):
            row = _existing(session, name)
            row.password_hash = hashed
            _end_sessions(session, row)
            session.execute(delete(SignInRow).where(SignInRow.name == name))
            _told(self._database, session, now, by, "password.set", row)
            return _staff(row)

    def sign_in(self, name: str, password: str, session_s: float) -> str | None:
        """A token for a new session of `session_s` seconds, or None: wrong name, password, or disabled.

        Raises:
            TooManyAttempts: wrong too often; nothing was looked at.
        """
        name, password = name.strip()[:MAX_NAME_CHARS], password[:MAX_PASSWORD_CHARS]
        self._count_attempt(name)
        with reading(self._database) as session:
            row = _named(session, name)
            stored = None if row is None or row.disabled_at else row.password_hash
        # Outside of any transaction: it takes a good while on purpose, and nobody's write should wait for it.
        if not verify_password(stored, password):
            return None
        token = secrets.token_urlsafe(32)
        with writing(self._database) as (session, now):
            row = _named(session, name)
            if row is None or row.disabled_at or row.password_hash != stored:
                return None  # disabled, or given another password, in this very moment
            session.execute(delete(SignInRow).where(SignInRow.name == name))
            session.execute(delete(StaffSessionRow).where(StaffSessionRow.expires_at <= now))
            session.add(
                StaffSessionRow(
                    token_hash=_hash(token),
                    staff_id=row.id,
                    created_at=now,
                    expires_at=now + timedelta(seconds=session_s),
                )
            )
        return token

    def session(self, token: str) -> Staff | None:
        """Whose session a cookie's token is; None when it is unknown, over, or the account is disabled."""
        with reading(self._database) as session:
            row = session.scalars(
                select(StaffRow)
                .join(StaffSessionRow, StaffSessionRow.staff_id == StaffRow.id)
                .where(
                    StaffSessionRow.token_hash == _hash(token),
                    StaffSessionRow.expires_at > self._database.now(session),
                    StaffRow.disabled_at.is_(None),
                )
            ).one_or_none()
            return None if row is None else _staff(row)

    def sign_out(self, token: str) -> None:
        """End one session; one that is over already is fine."""
        with writing(self._database) as (session, _):
            session.execute(delete(StaffSessionRow).where(StaffSessionRow.token_hash == _hash(token)))

    def _count_attempt(self, name: str) -> None:
        with writing(self._database) as (session, _):
            self._database.lock(session, f"sign-in:{name}")
            # After the lock: who waited for it began before the attempt that was counted meanwhile.
            now = self._database.now(session)
            old = SignInRow.last_at < now - timedelta(seconds=FORGET_S)
            session.execute(delete(SignInRow).where(old))
            row = session.get(SignInRow, name)
            if row is None:
                session.add(SignInRow(name=name, attempts=1, last_at=now))
                return
            wait_s = wait_after(row.attempts) - (now - row.last_at).total_seconds()
            if wait_s > 0:
                raise TooManyAttempts(wait_s)
            row.attempts += 1
            row.last_at = now


def wait_after(attempts: int) -> float:
    """Seconds from the last of so many attempts to the next that is looked at."""
    over = attempts - FREE_ATTEMPTS
    return 0.0 if over < 0 else float(min(FIRST_WAIT_S * 2 ** min(over, 20), LONGEST_WAIT_S))


def _fit(password: str) -> str:
    if not MIN_PASSWORD_CHARS <= len(password) <= MAX_PASSWORD_CHARS:
        raise InputError(
            f"A password has {MIN_PASSWORD_CHARS} to {MAX_PASSWORD_CHARS} characters",
            hint="A sentence of four or five words is easy to remember and long enough.",
        )
    return password


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def _named(session: Session, name: str) -> StaffRow | None:
    return session.scalars(select(StaffRow).where(StaffRow.name == name)).one_or_none()


def _existing(session: Session, name: str) -> StaffRow:
    row = _named(session, name)
    if row is None:
        raise NotFound(f"No account {name!r}", hint="`saycart staff list` shows every account.")
    return row


def _end_sessions(session: Session, row: StaffRow) -> None:
    session.execute(delete(StaffSessionRow).where(StaffSessionRow.staff_id == row.id))


def _told(
    database: Database,
    session: Session,
    now: datetime,
    by: Actor | None,
    action: str,
    row: StaffRow,
    before: dict[str, bool] | None = None,
    after: dict[str, bool] | None = None,
) -> None:
    """One entry of the audit log; of a password it says only that it was set."""
    record(
        database,
        session,
        now,
        shop=row.shop_id,
        by=by or UNKNOWN,
        action=action,
        about=("account", row.name),
        before=before,
        after=after,
    )


def _staff(row: StaffRow) -> Staff:
    return Staff(row.id, row.shop_id, row.name, Role(row.role), row.created_at, row.disabled_at)
