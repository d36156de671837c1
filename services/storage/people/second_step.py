"""The second step at sign-in: time-based codes (RFC 6238) from an authenticator app, and recovery codes.

A code is good for its own half minute and the two next to it, and counts once: the newest that was taken is
remembered, and the compare-and-set that moves it on lets one of two in. So is a recovery code: its row is
deleted, and who deleted it is in.
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
from infra.sql.database import Database
from schemas.errors import Conflict, InputError
from schemas.shops.access import EVERY_SHOP
from schemas.shops.audit import UNKNOWN, Actor
from schemas.shops.staff import StaffSession
from services.storage.audit.log import record_account
from services.storage.base.changes import writing
from services.storage.base.tables_staff import StaffRecoveryRow, StaffRow, StaffTotpRow
from services.storage.people.sessions import end_sessions, existing, held

STEP_S = 30
RECOVERY_CODES = 10
# In the order in which they are likely: a phone's clock is right, then late, then early.
_WINDOW = (0, -1, 1)


class SecondSteps:
    """Setting the second step up, and taking it away. A call may raise StorageUnavailable, and NotFound where
    there is no such account."""

    def __init__(self, database: Database) -> None:
        self._database = database.everywhere()

    def begin(self, own: StaffSession) -> None:
        """Make a new secret, which counts for nothing until `confirm`.

        Raises:
            Conflict: the account has a second step already.
        """
        with writing(self._database) as (session, _):
            held(session, own.staff_id)
            row = session.get(StaffTotpRow, own.staff_id)
            if row is None:
                row = StaffTotpRow(staff_id=own.staff_id)
                session.add(row)
            elif row.confirmed_at is not None:
                raise _on_already()
            row.secret, row.begun_by = pyotp.random_base32(), own.id

    def secret(self, own: StaffSession) -> str | None:
        """The secret that this very session began with and has not confirmed yet; base 32."""
        with self._database.read() as session:
            row = session.get(StaffTotpRow, own.staff_id)
            return row.secret if row and row.confirmed_at is None and row.begun_by == own.id else None

    def confirm(self, own: StaffSession, code: str, *, by: Actor = UNKNOWN) -> list[str]:
        """Put the secret to use by its first code; the recovery codes, which are never shown again. Other
        sessions, which came without a code, end.

        Raises:
            InputError: not the code of now, or nothing was begun by this session.
            Conflict: the account has a second step already.
        """
        with writing(self._database) as (session, now):
            account = held(session, own.staff_id)
            row = session.get(StaffTotpRow, own.staff_id)
            if row is not None and row.confirmed_at is not None:
                raise _on_already()
            step = _step_of(row.secret, code, now) if row and row.begun_by == own.id else None
            if row is None or step is None:
                raise InputError(
                    "Wrong code",
                    hint="Check your phone's clock, then enter the next code.",
                )
            row.confirmed_at, row.last_step = now, step
            end_sessions(session, own.staff_id, but=own.id)
            return _new_codes(session, now, by, "second_step.on", account)

    def renew_codes(self, staff_id: str, *, by: Actor = UNKNOWN) -> list[str]:
        """New recovery codes in place of the old.

        Raises:
            Conflict: the account has no second step.
        """
        with writing(self._database) as (session, now):
            account = held(session, staff_id)
            if not has_second_step(session, staff_id):
                raise Conflict("Two-step sign-in isn't set up", hint="Set it up first.")
            return _new_codes(session, now, by, "recovery_codes.made", account)

    def codes_left(self, staff_id: str) -> int:
        """Recovery codes that were not used yet."""
        with self._database.read() as session:
            return codes_left(session, staff_id)

    def off(self, name: str, *, keeping: str = "", shop: str = EVERY_SHOP, by: Actor = UNKNOWN) -> None:
        """Take the second step away, and end the account's sessions but for the one with the id `keeping`."""
        with writing(self._database) as (session, now):
            row = existing(session, name, hold=True, shop=shop)
            had_one = has_second_step(session, row.id)
            for table in (StaffRecoveryRow, StaffTotpRow):
                session.execute(delete(table).where(table.staff_id == row.id))
            end_sessions(session, row.id, but=keeping)
            if had_one:
                record_account(session, now, by, "second_step.off", row)


def has_second_step(session: Session, staff_id: str) -> bool:
    """Whether an account's sign-in takes a code."""
    row = session.get(StaffTotpRow, staff_id)
    return row is not None and row.confirmed_at is not None


def spend(session: Session, staff_id: str, code: str, now: datetime) -> Literal["phone", "recovery"] | None:
    """Use up a code from the phone or a recovery code, in this write transaction; which it was, None when it
    is neither, or was used before."""
    row = session.get(StaffTotpRow, staff_id)
    if row is None or row.confirmed_at is None:
        return None
    step = _step_of(row.secret, code, now)
    if step is not None:
        newer = or_(StaffTotpRow.last_step.is_(None), StaffTotpRow.last_step < step)
        mine = StaffTotpRow.staff_id == staff_id
        move = update(StaffTotpRow).where(mine, newer).values(last_step=step)
        return "phone" if session.scalar(move.returning(StaffTotpRow.staff_id)) else None
    of_account, right = StaffRecoveryRow.staff_id == staff_id, StaffRecoveryRow.code_hash == _hash(code)
    use = delete(StaffRecoveryRow).where(of_account, right)
    return "recovery" if session.scalar(use.returning(StaffRecoveryRow.staff_id)) else None


def codes_left(session: Session, staff_id: str) -> int:
    """Recovery codes that were not used yet."""
    mine = StaffRecoveryRow.staff_id == staff_id
    return session.execute(select(func.count()).select_from(StaffRecoveryRow).where(mine)).scalar_one()


def _step_of(secret: str, code: str, now: datetime) -> int | None:
    """Which half minute a code belongs to, of those that are good now."""
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
    """Dashes, spaces and capitals are as people type them."""
    return hashlib.sha256(re.sub(r"[\s-]", "", code).lower().encode()).hexdigest()


def _on_already() -> Conflict:
    return Conflict(
        "This account has a second step already", hint="Turn it off first, to set up another phone."
    )
