"""Sessions of staff, stored as rows so that they can be ended at any time.

The cookie has a random token, and the row its SHA-256, with which nobody can sign in. A session ends after a
fixed time, or when it hasn't been used for a while.
"""

from __future__ import annotations

import hashlib
import secrets
from contextlib import suppress
from datetime import datetime, timedelta

from sqlalchemy import Select, delete, select, update
from sqlalchemy.orm import Session

from schemas.errors import NotFound, StorageUnavailable
from schemas.shops.access import EVERY_SHOP, Role, of_person
from schemas.shops.audit import Actor
from schemas.shops.staff import StaffSession
from services.storage.audit.log import record_account
from services.storage.base.changes import writing
from services.storage.base.ids import new_id
from services.storage.base.mapping import fields_of
from services.storage.base.scoping import OfAllShops, of_shop
from services.storage.base.tables import ShopRow
from services.storage.base.tables_staff import (
    StaffChallengeRow,
    StaffRow,
    StaffSessionRow,
    StaffTotpRow,
)

# How often the use of a session is recorded at most.
USED_EVERY_S = 60.0


class SessionStore(OfAllShops):
    """Any call may raise StorageUnavailable."""

    def of(self, token: str, idle_s: float, *, used: bool = True) -> StaffSession | None:
        """Return the session of a cookie's token; None if it is unknown or over, or its account is disabled.
        `used`: this is an action of the person, which postpones the idle timeout."""
        hashed = hash_token(token)
        with self._database.read() as session:
            now = self._database.now(session)
            result = session.execute(
                _running(now, idle_s).where(StaffSessionRow.token_hash == hashed)
            ).one_or_none()
        if result is None:
            return None
        if used and (now - result[0].used_at).total_seconds() >= min(USED_EVERY_S, idle_s / 4):
            earlier = StaffSessionRow.token_hash == hashed, StaffSessionRow.used_at < now
            # The session is valid even if the database can't be written to now.
            with suppress(StorageUnavailable), writing(self._database) as (session, _):
                session.execute(update(StaffSessionRow).where(*earlier).values(used_at=now))
        return _session(*result)

    def end(self, token: str) -> str | None:
        """End a session, if there is one of this token; return the provider's ID token, None after a password
        sign-in."""
        mine = StaffSessionRow.token_hash == hash_token(token)
        with writing(self._database) as (session, _):
            return session.scalars(
                delete(StaffSessionRow).where(mine).returning(StaffSessionRow.id_token)
            ).one_or_none()

    def end_all(self, name: str, *, shop: str = EVERY_SHOP, by: Actor | None = None) -> None:
        """Sign an account out everywhere; raises NotFound if there is none of this name."""
        with writing(self._database) as (session, now):
            row = get_account(session, name, hold=True, shop=shop)
            end_sessions(session, row.id)
            record_account(session, now, by, "account.signed_out", row)


def begin_session(
    session: Session, staff_id: str, now: datetime, lasting_s: float, id_token: str | None = None
) -> str:
    """Add a session and return its token. `id_token`: the provider's, if it signed the person in. Deletes all
    expired sessions."""
    token = new_token()
    session.execute(delete(StaffSessionRow).where(StaffSessionRow.expires_at <= now))
    session.add(
        StaffSessionRow(
            token_hash=hash_token(token),
            id=new_id("ses"),
            staff_id=staff_id,
            used_at=now,
            expires_at=now + timedelta(seconds=lasting_s),
            id_token=id_token,
        )
    )
    return token


def end_sessions(session: Session, staff_id: str, *, keeping: str = "") -> None:
    """End an account's sessions and unfinished sign-ins, except for the session with the id `keeping`."""
    session.execute(
        delete(StaffSessionRow).where(StaffSessionRow.staff_id == staff_id, StaffSessionRow.id != keeping)
    )
    session.execute(delete(StaffChallengeRow).where(StaffChallengeRow.staff_id == staff_id))


def new_token() -> str:
    """Return 256 random bits for a cookie or key."""
    return secrets.token_urlsafe(32)


def hash_token(token: str) -> str:
    """Return the hash that is stored of a random token, which needs no slow one."""
    return hashlib.sha256(token.encode()).hexdigest()


def find_account(
    session: Session, name: str, *, hold: bool = False, shop: str = EVERY_SHOP
) -> StaffRow | None:
    """Return the shop's account of this name, if any. `hold` locks it, as is needed to begin or end sessions:
    none may begin while all are being ended."""
    query = select(StaffRow).where(StaffRow.name == name, of_shop(StaffRow, shop))
    return session.scalars(query.with_for_update() if hold else query).one_or_none()


def lock_account(session: Session, staff_id: str) -> StaffRow:
    """Return and lock the account with this id. Accounts are never deleted."""
    return session.get_one(StaffRow, staff_id, with_for_update=True)


def get_account(session: Session, name: str, *, hold: bool = False, shop: str = EVERY_SHOP) -> StaffRow:
    """Return the account as `find_account`; raises NotFound if there is none."""
    row = find_account(session, name, hold=hold, shop=shop)
    if row is None:
        raise NotFound(f"No account {name!r}", hint="`saycart staff list` lists all accounts.")
    return row


def _running(now: datetime, idle_s: float) -> Select[StaffSessionRow, StaffRow, datetime | None, bool]:
    return (
        select(StaffSessionRow, StaffRow, StaffTotpRow.confirmed_at, ShopRow.needs_second_step)
        .join(StaffRow, StaffRow.id == StaffSessionRow.staff_id)
        .join(ShopRow, ShopRow.id == StaffRow.shop_id)
        .outerjoin(StaffTotpRow, StaffTotpRow.staff_id == StaffRow.id)
        .where(
            StaffSessionRow.expires_at > now,
            StaffSessionRow.used_at > now - timedelta(seconds=idle_s),
            StaffRow.disabled_at.is_(None),
        )
    )


def _session(
    row: StaffSessionRow, staff: StaffRow, confirmed_at: datetime | None, needed: bool
) -> StaffSession:
    return StaffSession(
        **fields_of(row, StaffSession),
        name=staff.name,
        second_step=confirmed_at is not None,
        needs_second_step=needed,
        access=of_person(staff.shop_id, staff.name, Role.stored(staff.role)),
        by_provider=row.id_token is not None,
    )
