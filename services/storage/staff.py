"""Staff accounts: who may sign in, and with which password. How they do is in `sign_in.py`."""

from __future__ import annotations

import builtins
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select

from infra.database import Database
from infra.passwords import PasswordsBusy, hash_password
from schemas.errors import Conflict, InputError, SignInBusy
from services.storage.attempts import Attempts
from services.storage.changes import reading, writing
from services.storage.keys import new_id
from services.storage.sessions import end_sessions, existing, held, named
from services.storage.tables import StaffRow, StaffTotpRow

MAX_NAME_CHARS = 80
MIN_PASSWORD_CHARS, MAX_PASSWORD_CHARS = 10, 200


@dataclass(frozen=True, slots=True)
class Staff:
    """One account; `disabled_at` is None while it may sign in. `second_step`: signing in takes a code."""

    id: str
    name: str
    created_at: datetime
    disabled_at: datetime | None
    second_step: bool = False


class StaffStore:
    """Every call is one transaction or two, and may raise StorageUnavailable beside what it names."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._attempts = Attempts(database)

    def add(self, name: str, password: str) -> Staff:
        """Make an account.

        Raises:
            InputError: an empty or overlong name, or a password that is too short or too long.
            Conflict: the name is taken, if only by a disabled account: a name in old records is one person's.
        """
        name = name.strip()
        if not 1 <= len(name) <= MAX_NAME_CHARS or not name.isprintable():
            raise InputError(f"A name has 1 to {MAX_NAME_CHARS} printable characters")
        hashed = _hashed(password)
        with writing(self._database) as (session, now):
            self._database.lock(session, f"staff:{name}")
            if named(session, name) is not None:
                raise Conflict(
                    f"There is an account {name!r} already", hint="Choose another name; names stay taken."
                )
            row = StaffRow(id=new_id("stf"), name=name, password_hash=hashed, created_at=now)
            session.add(row)
            session.flush()
            return _staff(row)

    def list(self) -> builtins.list[Staff]:
        """Every account by name, disabled ones included."""
        with reading(self._database) as session:
            # The date and not the row: the secret has no business here.
            found = session.execute(
                select(StaffRow, StaffTotpRow.confirmed_at)
                .outerjoin(StaffTotpRow, StaffTotpRow.staff_id == StaffRow.id)
                .order_by(StaffRow.name)
            )
            return [_staff(row, second_step=since is not None) for row, since in found]

    def disable(self, name: str) -> Staff:
        """Shut an account and end its sessions; its name stays in what it decided.

        Raises:
            NotFound: no such account.
        """
        with writing(self._database) as (session, now):
            row = existing(session, name, hold=True)
            row.disabled_at = row.disabled_at or now
            end_sessions(session, row.id)
            return _staff(row)

    def set_password(self, name: str, password: str) -> Staff:
        """Give an account a new password and end its sessions.

        Raises:
            NotFound: no such account.
            InputError: as `add`.
        """
        hashed = _hashed(password)
        with writing(self._database) as (session, _):
            row = existing(session, name, hold=True)
            row.password_hash = hashed
            end_sessions(session, row.id)
            self._attempts.forget(session, name)
            return _staff(row)

    def change_password(self, staff_id: str, password: str, *, keeping: str) -> None:
        """The account's own new password; its sessions end but for the one with the id `keeping`.

        Raises:
            NotFound: no such account.
            InputError: as `add`.
        """
        hashed = _hashed(password)
        with writing(self._database) as (session, _):
            held(session, staff_id).password_hash = hashed
            end_sessions(session, staff_id, but=keeping)


def _fit(password: str) -> str:
    if not MIN_PASSWORD_CHARS <= len(password) <= MAX_PASSWORD_CHARS:
        raise InputError(
            f"A password has {MIN_PASSWORD_CHARS} to {MAX_PASSWORD_CHARS} characters",
            hint="A sentence of four or five words is easy to remember and long enough.",
        )
    return password


def _hashed(password: str) -> str:
    try:
        return hash_password(_fit(password))
    except PasswordsBusy:
        raise SignInBusy from None


def _staff(row: StaffRow, *, second_step: bool = False) -> Staff:
    return Staff(row.id, row.name, row.created_at, row.disabled_at, second_step)
