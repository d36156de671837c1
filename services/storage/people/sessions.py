"""Sessions of staff: rows, so that each can be ended from here at once.

The cookie holds a random token and the row its SHA-256: who reads the database can't sign in with it. A
session ends by itself when it is old, and when it was not used for a while.
"""

from __future__ import annotations

import hashlib
import secrets
from contextlib import suppress
from datetime import datetime, timedelta

from sqlalchemy import Select, delete, select, update
from sqlalchemy.orm import Session

from infra.sql.database import Database
from schemas.errors import NotFound, StorageUnavailable
from schemas.shops.access import EVERY_SHOP, Role, of_person
from schemas.shops.staff import StaffSession
from services.storage.base.changes import writing
from services.storage.base.ids import new_id
from services.storage.base.mapping import alike
from services.storage.base.scoping import of_shop
from services.storage.base.tables import ShopRow
from services.storage.base.tables_staff import (
    StaffChallengeRow,
    StaffRow,
    StaffSessionRow,
    StaffTotpRow,
)

# That a session was used is written down at most so often: a read should stay a read.
NOTED_EVERY_S = 60.0


class SessionStore:
    """A call is one transaction or two, and may raise StorageUnavailable."""

    def __init__(self, database: Database) -> None:
        self._database = database.everywhere()

    def of(self, token: str, idle_s: float, *, used: bool = True) -> StaffSession | None:
        """The session of a cookie's token; None when it is unknown, over, or the account is disabled.

        `used`: a person does something with it just now, which puts off its idle end.
        """
        hashed = hash_token(token)
        with self._database.read() as session:
            now = self._database.now(session)
            found = session.execute(
                _running(now, idle_s).where(StaffSessionRow.token_hash == hashed)
            ).one_or_none()
        if found is None:
            return None
        if used and (now - found[0].used_at).total_seconds() >= min(NOTED_EVERY_S, idle_s / 4):
            unnoted = StaffSessionRow.token_hash == hashed, StaffSessionRow.used_at < now
            # A database that can't take a write now should not turn away a person whom it can read.
            with suppress(StorageUnavailable), writing(self._database) as (session, _):
                session.execute(update(StaffSessionRow).where(*unnoted).values(used_at=now))
        return _session(*found)

    def end(self, token: str) -> str | None:
        """End one session by its token; one that is over already is fine. The ID token by which it was begun,
        None where it was begun by a password."""
        mine = StaffSessionRow.token_hash == hash_token(token)
        with writing(self._database) as (session, _):
            return session.scalars(
                delete(StaffSessionRow).where(mine).returning(StaffSessionRow.id_token)
            ).one_or_none()

    def end_all(self, name: str, *, shop: str = EVERY_SHOP) -> None:
        """Sign an account out everywhere; raises NotFound for a name that none has."""
        with writing(self._database) as (session, _):
            end_sessions(session, existing(session, name, hold=True, shop=shop).id)


def begin_session(
    session: Session, staff_id: str, now: datetime, lasting_s: float, id_token: str | None = None
) -> str:
    """Add a session under a new token, which is returned; sessions of anybody that are over go. `id_token`:
    what the provider said, where its word begins this one."""
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


def end_sessions(session: Session, staff_id: str, *, but: str = "") -> None:
    """End an account's sessions, and sign-ins that are half done; `but` is the id of one that stays."""
    session.execute(
        delete(StaffSessionRow).where(StaffSessionRow.staff_id == staff_id, StaffSessionRow.id != but)
    )
    session.execute(delete(StaffChallengeRow).where(StaffChallengeRow.staff_id == staff_id))


def new_token() -> str:
    """256 random bits for a cookie."""
    return secrets.token_urlsafe(32)


def hash_token(token: str) -> str:
    """What is stored of a token. It is random, so there is nothing to guess at and no need to be slow."""
    return hashlib.sha256(token.encode()).hexdigest()


def named(session: Session, name: str, *, hold: bool = False, shop: str = EVERY_SHOP) -> StaffRow | None:
    """The account of this name in the shop. `hold`: no other transaction changes it, signs in or out, until
    this one ends; to begin or end sessions it has to be held, so that none begins while all are ended."""
    found = select(StaffRow).where(StaffRow.name == name, of_shop(StaffRow, shop))
    return session.scalars(found.with_for_update() if hold else found).one_or_none()


def held(session: Session, staff_id: str) -> StaffRow:
    """The account with this id, as `named` with `hold`. Accounts are never removed."""
    return session.get_one(StaffRow, staff_id, with_for_update=True)


def existing(session: Session, name: str, *, hold: bool = False, shop: str = EVERY_SHOP) -> StaffRow:
    """As `named`; raises NotFound where there is none."""
    row = named(session, name, hold=hold, shop=shop)
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
        **alike(row, StaffSession),
        name=staff.name,
        second_step=confirmed_at is not None,
        needs_second_step=needed,
        access=of_person(staff.shop_id, staff.name, Role.stored(staff.role)),
        by_provider=row.id_token is not None,
    )
