"""Staff accounts: who may sign in, and with which password. How they do is in `sign_in.py`."""

from __future__ import annotations

import builtins
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from infra.passwords import PasswordsBusy, hash_password
from infra.sql.database import Database
from schemas.errors import Conflict, InputError, SignInBusy
from schemas.shops.access import MAIN_SHOP, Role
from schemas.shops.audit import Actor
from services.storage.audit.entries import record_account
from services.storage.base.changes import reading, writing
from services.storage.base.ids import new_id
from services.storage.base.scoping import shop_row
from services.storage.base.tables_staff import StaffOidcRow, StaffRow, StaffTotpRow
from services.storage.people.attempts import Attempts
from services.storage.people.guessable import is_guessable
from services.storage.people.names import MAX_NAME_CHARS, is_name, taken
from services.storage.people.sessions import end_sessions, existing, held

MIN_PASSWORD_CHARS, MAX_PASSWORD_CHARS = 12, 200
NO_PASSWORD = ""
"""In place of a hash, where no password lets anybody in."""


@dataclass(frozen=True, slots=True)
class Staff:
    """One account; `disabled_at` is None while it may sign in. `second_step`: signing in takes a code.
    `provider`: None, `invited` to sign in by the provider, or `bound` to it."""

    id: str
    shop: str
    name: str
    role: Role | None
    created_at: datetime
    disabled_at: datetime | None
    second_step: bool = False
    provider: str | None = None


class StaffStore:
    """Every call is one transaction or two, and may raise StorageUnavailable in addition to what it names."""

    def __init__(self, database: Database) -> None:
        self._database = database.everywhere()
        self._attempts = Attempts(database)

    def add(
        self,
        name: str,
        password: str | None,
        *,
        shop: str = MAIN_SHOP,
        role: Role = Role.REVIEWER,
        by: Actor | None = None,
    ) -> Staff:
        """Make an account of a shop. Its name is one person's in all shops, since it stands in records.
        Without a password only a provider can let it in.

        Raises:
            NotFound: no such shop.
            InputError: an empty or overlong name, or a password that is too short, too long or easy to guess.
            Conflict: the name is taken, or looks like one that is, if only by a disabled account: a name in
                old records is one person's.
        """
        name = name.strip()
        if not is_name(name):
            raise InputError(f"A name has 1 to {MAX_NAME_CHARS} printable characters")
        hashed = NO_PASSWORD if password is None else _hashed(password, name, shop)
        with writing(self._database) as (session, now):
            if (other := taken(self._database, session, name)) is not None:
                alike = "" if other == name else f", and {name!r} looks like it"
                raise Conflict(
                    f"The account {other!r} already exists{alike}",
                    hint="Choose another name; names are never reused.",
                )
            shop_row(session, shop)
            row = new_account(session, now, name, shop, role, hashed)
            after = {"disabled": False, "role": role.value}
            record_account(session, now, by, "account.added", row, None, after)
            return _staff(row)

    def list(self) -> builtins.list[Staff]:
        """Every account by name, disabled ones included."""
        with reading(self._database) as session:
            # The date and not the row: the secret has no business here.
            found = session.execute(
                select(StaffRow, StaffTotpRow.confirmed_at, StaffOidcRow.issuer, StaffOidcRow.bound_at)
                .outerjoin(StaffTotpRow, StaffTotpRow.staff_id == StaffRow.id)
                .outerjoin(StaffOidcRow, StaffOidcRow.staff_id == StaffRow.id)
                .order_by(StaffRow.name)
            )
            return [
                _staff(
                    row,
                    second_step=since is not None,
                    provider=None if issuer is None else "bound" if bound_at else "invited",
                )
                for row, since, issuer, bound_at in found
            ]

    def disable(self, name: str, *, by: Actor | None = None) -> Staff:
        """Shut an account and end its sessions; its name stays in what it decided.

        Raises:
            NotFound: no such account.
        """
        with writing(self._database) as (session, now):
            row = existing(session, name, hold=True)
            was = row.disabled_at is not None
            row.disabled_at = row.disabled_at or now
            end_sessions(session, row.id)
            record_account(session, now, by, "account.disabled", row, {"disabled": was}, {"disabled": True})
            return _staff(row)

    def set_role(self, name: str, role: Role, *, by: Actor | None = None) -> Staff:
        """Give an account another role; what its sessions may do follows at once.

        Raises:
            NotFound: no such account.
        """
        with writing(self._database) as (session, now):
            row = existing(session, name, hold=True)
            was, row.role = row.role, role.value
            record_account(session, now, by, "account.role", row, {"role": was}, {"role": role.value})
            return _staff(row)

    def set_password(self, name: str, password: str, *, by: Actor | None = None) -> Staff:
        """Give an account a new password and end its sessions.

        Raises:
            NotFound: no such account.
            InputError: as `add`.
        """
        with reading(self._database) as session:
            staff_id = existing(session, name).id
        return self._set_password(staff_id, password, "password.set", by)

    def change_password(self, staff_id: str, password: str, *, keeping: str, by: Actor | None = None) -> None:
        """The account's own new password; its sessions end but for the one with the id `keeping`.

        Raises:
            NotFound: no such account.
            InputError: as `add`.
        """
        self._set_password(staff_id, password, "password.changed", by, keeping=keeping)

    def _set_password(
        self, staff_id: str, password: str, action: str, by: Actor | None, *, keeping: str = ""
    ) -> Staff:
        with reading(self._database) as session:
            row = session.get(StaffRow, staff_id)
            names = (row.name, row.shop_id) if row else ()
        # Outside of a transaction: it takes a good while on purpose.
        hashed = _hashed(password, *names)
        with writing(self._database) as (session, now):
            row = held(session, staff_id)
            row.password_hash = hashed
            end_sessions(session, staff_id, but=keeping)
            if not keeping:
                self._attempts.forget(session, row.name)
            record_account(session, now, by, action, row)
            return _staff(row)


def new_account(
    session: Session, now: datetime, name: str, shop: str, role: Role, password_hash: str
) -> StaffRow:
    """The row of a new account, written in the caller's transaction, who has looked that the name is free."""
    row = StaffRow(
        id=new_id("stf"),
        shop_id=shop,
        role=role.value,
        name=name,
        password_hash=password_hash,
        created_at=now,
    )
    session.add(row)
    session.flush()
    return row


def _fit(password: str, *names: str) -> str:
    if not MIN_PASSWORD_CHARS <= len(password) <= MAX_PASSWORD_CHARS:
        raise InputError(
            f"A password has {MIN_PASSWORD_CHARS} to {MAX_PASSWORD_CHARS} characters",
            hint="A sentence of four or five words is easy to remember.",
        )
    if is_guessable(password, *names):
        raise InputError(
            "That password is easy to guess", hint="A sentence of four or five words is easy to remember."
        )
    return password


def _hashed(password: str, *names: str) -> str:
    try:
        return hash_password(_fit(password, *names))
    except PasswordsBusy:
        raise SignInBusy from None


def _staff(row: StaffRow, *, second_step: bool = False, provider: str | None = None) -> Staff:
    return Staff(
        row.id,
        row.shop_id,
        row.name,
        Role.stored(row.role),
        row.created_at,
        row.disabled_at,
        second_step,
        provider,
    )
