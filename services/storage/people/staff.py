"""Staff accounts, their roles and passwords. Signing in is in `sign_in.py`."""

from __future__ import annotations

import builtins
import unicodedata
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from infra.passwords import hash_password
from infra.sql.database import Database
from schemas.errors import Conflict, InputError
from schemas.shops.access import EVERY_SHOP, MAIN_SHOP, Role
from schemas.shops.audit import Actor
from services.storage.audit.log import record_account
from services.storage.base.changes import writing
from services.storage.base.ids import checked_name, new_id
from services.storage.base.mapping import fields_of
from services.storage.base.scoping import OfShop, of_shop
from services.storage.base.tables_staff import StaffOidcRow, StaffRow, StaffTotpRow
from services.storage.people.attempts import Attempts
from services.storage.people.sessions import end_sessions, get_account

MAX_NAME_CHARS = 80
MIN_PASSWORD_CHARS, MAX_PASSWORD_CHARS = 12, 200
# zxcvbn's best score: more than 10^10 guesses. It estimates no more characters.
MIN_SCORE, ESTIMATED_CHARS = 4, 72
# Characters that look like an ASCII letter, by Unicode's confusables (UTS 39).
_CONFUSABLE = str.maketrans(
    "аеорсухіјѕԁһӏԛԝѵүАВЕЅІЈКМНОРСТХУԜѴҮαορυνιϳγσΑΒΕΖΗΙΚΜΝΟΡΤΥΧɑɡıοօսհՕՏՍ",
    "aeopcyxijsdhlqwvyABESIJKMHOPCTXYWVYaopuvijyoABEZHIKMNOPTYXagioouhOSU",
)
_ASCII_CONFUSABLE = str.maketrans("I|10", "lllO")


@dataclass(frozen=True, slots=True)
class Staff:
    """An account; `disabled_at` is None while it is enabled. `second_step`: True if it needs a code to sign
    in. `provider`: None, `invited` to sign in by a provider, or `bound` to it."""

    id: str
    shop: str
    name: str
    role: Role | None
    created_at: datetime
    disabled_at: datetime | None
    second_step: bool = False
    provider: str | None = None


class StaffStore(OfShop):
    """Accounts of one shop or of all. Any call may raise StorageUnavailable, and NotFound for an unknown
    name."""

    def __init__(self, database: Database, shop: str = EVERY_SHOP) -> None:
        super().__init__(database, shop)
        self._everywhere = database.everywhere()
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
        """Create an account. Names are unique across shops. Without a password, only a provider can sign it
        in.

        Raises:
            NotFound: an unknown shop.
            InputError: an invalid name, or a password that is too short, too long or easy to guess.
            Conflict: the name is taken, or looks like one of the shop's accounts. Names of disabled accounts
                stay taken, since they stand in old records.
        """
        name = checked_name("A name", name, MAX_NAME_CHARS)
        # No password matches an empty hash.
        hashed = "" if password is None else _hashed(password, name, shop)
        with writing(self._everywhere) as (session, now):
            self._refuse_taken(session, name, shop)
            self._check_shop(session, shop)
            row = StaffRow(
                id=new_id("stf"),
                shop_id=shop,
                role=role.value,
                name=name,
                password_hash=hashed,
                created_at=now,
            )
            session.add(row)
            after = {"disabled": False, "role": role.value}
            record_account(session, now, by, "account.added", row, None, after)
            return _staff(row)

    def _refuse_taken(self, session: Session, name: str, shop: str) -> None:
        self._database.lock(session, "staff")
        for other, its_shop in session.execute(select(StaffRow.name, StaffRow.shop_id)):
            if other == name or (its_shop == shop and _look_alike(other, name)):
                seen = "" if other == name else f", and {name!r} looks like it"
                raise Conflict(
                    f"The account {other!r} already exists{seen}",
                    hint="Choose another name; names are never reused.",
                )

    def list(self) -> builtins.list[Staff]:
        """List all accounts by name, including disabled ones."""
        with self._database.read() as session:
            rows = session.execute(
                select(StaffRow, StaffTotpRow.confirmed_at, StaffOidcRow.issuer, StaffOidcRow.subject)
                .outerjoin(StaffTotpRow, StaffTotpRow.staff_id == StaffRow.id)
                .outerjoin(StaffOidcRow, StaffOidcRow.staff_id == StaffRow.id)
                .where(of_shop(StaffRow, self._shop))
                .order_by(StaffRow.name)
            )
            return [
                _staff(
                    row,
                    second_step=since is not None,
                    provider=None if issuer is None else "bound" if subject else "invited",
                )
                for row, since, issuer, subject in rows
            ]

    def disable(self, name: str, *, by: Actor | None = None) -> Staff:
        """Disable an account and end its sessions; its name stays in records."""
        with writing(self._database) as (session, now):
            row = get_account(session, name, hold=True, shop=self._shop)
            was = row.disabled_at is not None
            row.disabled_at = row.disabled_at or now
            end_sessions(session, row.id)
            record_account(session, now, by, "account.disabled", row, {"disabled": was}, {"disabled": True})
            return _staff(row)

    def set_role(self, name: str, role: Role, *, by: Actor | None = None) -> Staff:
        """Change an account's role, effective immediately."""
        with writing(self._database) as (session, now):
            row = get_account(session, name, hold=True, shop=self._shop)
            was, row.role = row.role, role.value
            record_account(session, now, by, "account.role", row, {"role": was}, {"role": role.value})
            return _staff(row)

    def set_password(self, name: str, password: str, *, keeping: str = "", by: Actor | None = None) -> Staff:
        """Set a new password and end the account's sessions, except for the one with the id `keeping`, in
        which its own person does this. Raises InputError as `add`."""
        with self._database.read() as session:
            row = get_account(session, name, shop=self._shop)
        # Outside of a transaction: it is slow on purpose.
        hashed = _hashed(password, row.name, row.shop_id)
        with writing(self._database) as (session, now):
            row = get_account(session, name, hold=True, shop=self._shop)
            row.password_hash = hashed
            end_sessions(session, row.id, keeping=keeping)
            if not keeping:
                self._attempts.forget(session, row.name)
            record_account(session, now, by, "password.changed" if keeping else "password.set", row)
            return _staff(row)


def _hashed(password: str, *names: str) -> str:
    """Return the hash of a new password; raises InputError for a bad one. `names`: of account and shop."""
    from zxcvbn import zxcvbn  # lazy: only a new password needs it

    hint = "A sentence of four or five words is easy to remember."
    if not MIN_PASSWORD_CHARS <= len(password) <= MAX_PASSWORD_CHARS:
        raise InputError(f"A password has {MIN_PASSWORD_CHARS} to {MAX_PASSWORD_CHARS} characters", hint=hint)
    if zxcvbn(password[:ESTIMATED_CHARS], user_inputs=[*names, "saycart"])["score"] < MIN_SCORE:
        raise InputError("That password is easy to guess", hint=hint)
    return hash_password(password)


def _look_alike(one: str, other: str) -> bool:
    """Return True if two names differ only by case, spaces, or characters that look the same."""
    one, other = (" ".join(unicodedata.normalize("NFKC", name).split()) for name in (one, other))
    if one.casefold() == other.casefold():
        return True
    one, other = one.translate(_CONFUSABLE), other.translate(_CONFUSABLE)
    if one.casefold() == other.casefold():
        return True
    return one.translate(_ASCII_CONFUSABLE) == other.translate(_ASCII_CONFUSABLE)


def _staff(row: StaffRow, *, second_step: bool = False, provider: str | None = None) -> Staff:
    found = fields_of(row, Staff) | {"shop": row.shop_id, "role": Role.stored(row.role)}
    return Staff(**found, second_step=second_step, provider=provider)
