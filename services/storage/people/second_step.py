"""The second step of signing in: time-based codes (RFC 6238) from an authenticator app, or recovery codes.

A time-based code is valid in its own time step and the two next to it. Each code can be used once: the newest
step is stored by compare-and-set, and the row of a recovery code is deleted.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from datetime import datetime
from typing import Literal

import pyotp
from sqlalchemy import delete, func, or_, select, update
from sqlalchemy.orm import Session

from infra.passwords import readable_secret
from schemas.errors import Conflict, InputError
from schemas.shops.access import EVERY_SHOP
from schemas.shops.audit import UNKNOWN, Actor
from schemas.shops.staff import StaffSession
from services.storage.audit.log import record_account
from services.storage.base.changes import writing
from services.storage.base.scoping import OfAllShops
from services.storage.base.tables_staff import StaffRecoveryRow, StaffRow, StaffTotpRow
from services.storage.people.sessions import end_sessions, get_account, lock_account

STEP_S = 30
RECOVERY_CODES = 10
# Likely ones first: a phone's clock is right, late, or early.
_WINDOW = (0, -1, 1)


class SecondSteps(OfAllShops):
    """Sets up and removes the second step. Any call may raise StorageUnavailable, and NotFound for an unknown
    account."""

    def begin(self, own: StaffSession) -> None:
        """Create a secret, which is used only after `confirm`. Raises Conflict if a second step is on."""
        with writing(self._database) as (session, _):
            lock_account(session, own.staff_id)
            row = session.get(StaffTotpRow, own.staff_id)
            if row is None:
                row = StaffTotpRow(staff_id=own.staff_id)
                session.add(row)
            elif row.confirmed_at is not None:
                raise _on_already()
            row.secret, row.begun_by = pyotp.random_base32(), own.id

    def secret(self, own: StaffSession) -> str | None:
        """Return the unconfirmed secret that this session has begun with, in base 32."""
        with self._database.read() as session:
            row = session.get(StaffTotpRow, own.staff_id)
            return row.secret if row and row.confirmed_at is None and row.begun_by == own.id else None

    def confirm(self, own: StaffSession, code: str, *, by: Actor = UNKNOWN) -> list[str]:
        """Turn the second step on by its first code, and end the account's other sessions. Returns the
        recovery codes, which are never shown again.

        Raises:
            InputError: a wrong code, or one without `begin` in this session.
            Conflict: the second step is on already.
        """
        with writing(self._database) as (session, now):
            account = lock_account(session, own.staff_id)
            row = session.get(StaffTotpRow, own.staff_id)
            if row is not None and row.confirmed_at is not None:
                raise _on_already()
            step = _step_of(row.secret, code, now) if row and row.begun_by == own.id else None
            if row is None or step is None:
                raise InputError("Wrong code", hint="Check your phone's clock, then enter the next code.")
            row.confirmed_at, row.last_step = now, step
            end_sessions(session, own.staff_id, keeping=own.id)
            return _new_codes(session, now, by, "second_step.on", account)

    def renew_codes(self, staff_id: str, *, by: Actor = UNKNOWN) -> list[str]:
        """Replace the recovery codes; raises Conflict if the account has no second step."""
        with writing(self._database) as (session, now):
            account = lock_account(session, staff_id)
            if not has_second_step(session, staff_id):
                raise Conflict("Two-step sign-in isn't set up", hint="Set it up first.")
            return _new_codes(session, now, by, "recovery_codes.made", account)

    def codes_left(self, staff_id: str) -> int:
        """Count the account's unused recovery codes."""
        with self._database.read() as session:
            return codes_left(session, staff_id)

    def off(self, name: str, *, keeping: str = "", shop: str = EVERY_SHOP, by: Actor = UNKNOWN) -> None:
        """Turn the second step off, and end the account's sessions except for `keeping` (an id)."""
        with writing(self._database) as (session, now):
            row = get_account(session, name, hold=True, shop=shop)
            had_one = has_second_step(session, row.id)
            for table in (StaffRecoveryRow, StaffTotpRow):
                session.execute(delete(table).where(table.staff_id == row.id))
            end_sessions(session, row.id, keeping=keeping)
            if had_one:
                record_account(session, now, by, "second_step.off", row)


def has_second_step(session: Session, staff_id: str) -> bool:
    """Return True if an account needs a code to sign in."""
    row = session.get(StaffTotpRow, staff_id)
    return row is not None and row.confirmed_at is not None


def use_code(
    session: Session, staff_id: str, code: str, now: datetime
) -> Literal["phone", "recovery"] | None:
    """Use up a code in this write transaction and return its kind; None if it is wrong or already used."""
    row = session.get(StaffTotpRow, staff_id)
    if row is None or row.confirmed_at is None:
        return None
    step = _step_of(row.secret, code, now)
    if step is not None:
        newer = or_(StaffTotpRow.last_step.is_(None), StaffTotpRow.last_step < step)
        use = update(StaffTotpRow).where(StaffTotpRow.staff_id == staff_id, newer).values(last_step=step)
        return "phone" if session.scalar(use.returning(StaffTotpRow.staff_id)) else None
    recovery = StaffRecoveryRow.staff_id == staff_id, StaffRecoveryRow.code_hash == _hash(code)
    used = session.scalar(delete(StaffRecoveryRow).where(*recovery).returning(StaffRecoveryRow.staff_id))
    return "recovery" if used else None


def codes_left(session: Session, staff_id: str) -> int:
    """Count an account's unused recovery codes."""
    query = select(func.count()).where(StaffRecoveryRow.staff_id == staff_id)
    return session.execute(query).scalar_one()


def _step_of(secret: str, code: str, now: datetime) -> int | None:
    """Return the time step of a valid code, otherwise None."""
    typed = re.sub(r"\s", "", code)
    current, totp = int(now.timestamp()) // STEP_S, pyotp.TOTP(secret, interval=STEP_S)
    steps = (current + offset for offset in _WINDOW)
    return next(
        (s for s in steps if hmac.compare_digest(totp.generate_otp(s).encode(), typed.encode())), None
    )


def _new_codes(session: Session, now: datetime, by: Actor, action: str, account: StaffRow) -> list[str]:
    """Replace an account's recovery codes, log it as `action`, and return the new ones."""
    session.execute(delete(StaffRecoveryRow).where(StaffRecoveryRow.staff_id == account.id))
    codes = [readable_secret() for _ in range(RECOVERY_CODES)]
    session.add_all(StaffRecoveryRow(staff_id=account.id, code_hash=_hash(code)) for code in codes)
    record_account(session, now, by, action, account, after={"recovery_codes": len(codes)})
    return codes


def _hash(code: str) -> str:
    """Return the hash of a recovery code, ignoring dashes, spaces and case."""
    return hashlib.sha256(re.sub(r"[\s-]", "", code).lower().encode()).hexdigest()


def _on_already() -> Conflict:
    return Conflict(
        "This account has a second step already", hint="Turn it off first, to set up another phone."
    )
