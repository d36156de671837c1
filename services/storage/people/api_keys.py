"""API keys of shops.

A key is `saycart_ID_SECRET`. The row stores the SHA-256 of the secret's 256 random bits, which need no slow
hash. A page key is an id only: it is part of the address of a shop's order page and opens nothing else.
"""

from __future__ import annotations

import builtins
import hmac
import re
import secrets
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from infra.sql.database import Database
from schemas.errors import InputError, NotFound
from schemas.shops.access import EVERY_SHOP, VISITOR_SCOPES, Access, Scope
from schemas.shops.audit import Actor
from services.storage.audit.log import record
from services.storage.base.changes import writing
from services.storage.base.ids import DIGITS, checked_name
from services.storage.base.mapping import fields_of
from services.storage.base.scoping import OfShop, of_shop
from services.storage.base.tables_staff import ApiKeyRow, StaffRow
from services.storage.people.sessions import find_account, hash_token, new_token

MAX_NAME_CHARS = 80
ID_CHARS, PAGE_ID_CHARS = 10, 20
_TOKEN = re.compile(rf"saycart_([{DIGITS}]{{{ID_CHARS}}})_([A-Za-z0-9_-]{{43}})", re.ASCII)
_PAGE_KEY = re.compile(rf"[{DIGITS}]{{{PAGE_ID_CHARS}}}", re.ASCII)
USED_S = 60
"""How often the last use is recorded at most."""


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key without its secret. `is_page`: the public key of an order page. `person`: the account that it
    acts for, named in reviews."""

    id: str
    shop: str
    name: str
    scopes: frozenset[Scope]
    is_page: bool
    person: str | None
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None


class KeyStore(OfShop):
    """Keys of one shop or of all. Any call may raise StorageUnavailable."""

    def __init__(self, database: Database, shop: str = EVERY_SHOP) -> None:
        super().__init__(database, shop)

    def access(self, token: str) -> Access | None:
        """Return what a token gives access to; None if it is unknown, expired or revoked, or its person's
        account is disabled."""
        parts = _TOKEN.fullmatch(token)
        found = self._valid(parts[1]) if parts else None
        if parts is None or found is None:
            return None
        row, person = found
        if row.secret_hash is None or not hmac.compare_digest(row.secret_hash, hash_token(parts[2])):
            return None
        return Access(row.shop_id, f"key:{row.id}", Scope.stored(row.scopes), person)

    def page_access(self, key_id: str) -> Access | None:
        """Return what a page key gives access to; None if it is unknown or revoked."""
        found = self._valid(key_id) if _PAGE_KEY.fullmatch(key_id) else None
        if found is None or found[0].secret_hash is not None:
            return None
        return Access(found[0].shop_id, f"page:{key_id}", VISITOR_SCOPES)

    def add(
        self,
        shop: str,
        name: str,
        scopes: Collection[Scope],
        *,
        by: Actor,
        person: str | None = None,
        lasts_s: float | None = None,
    ) -> tuple[ApiKey, str]:
        """Create a key, valid for `lasts_s` seconds or indefinitely; return it and its token, which is never
        shown again.

        Raises:
            InputError: an invalid name, no scopes, or the scope `reviews` without a person.
            NotFound: an unknown shop, or an account that it doesn't have.
        """
        name = checked_name("A key's name", name, MAX_NAME_CHARS)
        if not scopes:
            raise InputError("A key needs a scope", hint=f"Scopes are {', '.join(Scope)}.")
        if Scope.REVIEWS in scopes and person is None:
            raise InputError(
                "A key with the scope `reviews` needs a person", hint="Name the account that it acts for."
            )
        secret = new_token()
        row = ApiKeyRow(id=_new_id(ID_CHARS), shop_id=shop, name=name, scopes=sorted(scopes))
        row.secret_hash = hash_token(secret)
        return self._added(row, by, person, lasts_s), f"saycart_{row.id}_{secret}"

    def add_page(self, shop: str, name: str, *, by: Actor) -> ApiKey:
        """Create the public key of an order page.

        Raises:
            InputError: an invalid name.
            NotFound: an unknown shop.
        """
        row = ApiKeyRow(
            id=_new_id(PAGE_ID_CHARS), shop_id=shop, name=checked_name("A key's name", name, MAX_NAME_CHARS)
        )
        row.scopes = sorted(VISITOR_SCOPES)
        return self._added(row, by)

    def list(self) -> builtins.list[ApiKey]:
        """List all keys, oldest first, including expired and revoked ones."""
        query = select(ApiKeyRow, StaffRow.name).outerjoin(StaffRow, StaffRow.id == ApiKeyRow.staff_id)
        query = query.where(of_shop(ApiKeyRow, self._shop))
        with self._database.read() as session:
            found = session.execute(query.order_by(ApiKeyRow.created_at, ApiKeyRow.id))
            return [_key(row, person) for row, person in found]

    def revoke(self, key_id: str, *, by: Actor) -> ApiKey:
        """Revoke a key; no effect if already revoked. Raises NotFound for an unknown one."""
        with writing(self._database) as (session, now):
            row = self._one(session, ApiKeyRow, key_id)
            row.revoked_at = row.revoked_at or now
            return _recorded(session, now, "key.revoked", row, by)

    def _added(
        self, row: ApiKeyRow, by: Actor, person: str | None = None, lasts_s: float | None = None
    ) -> ApiKey:
        with writing(self._database) as (session, now):
            self._check_shop(session, row.shop_id)
            row.created_at = now
            row.expires_at = None if lasts_s is None else now + timedelta(seconds=lasts_s)
            row.staff_id = None if person is None else _account(session, row.shop_id, person).id
            session.add(row)
            return _recorded(session, now, "key.added", row, by)

    def _valid(self, key_id: str) -> tuple[ApiKeyRow, str | None] | None:
        """Return the row of a valid key and its person's name, by one query."""
        query = select(ApiKeyRow, StaffRow, self._database.clock()).outerjoin(
            StaffRow, StaffRow.id == ApiKeyRow.staff_id
        )
        with self._database.glance() as session:
            result = session.execute(query.where(ApiKeyRow.id == key_id)).one_or_none()
        if result is None:
            return None
        row, person, now = result
        ended = row.revoked_at is not None or (row.expires_at is not None and row.expires_at <= now)
        if ended or (person is not None and person.disabled_at is not None):
            return None
        if row.last_used_at is None or (now - row.last_used_at).total_seconds() > USED_S:
            with writing(self._database) as (session, _):
                session.execute(update(ApiKeyRow).where(ApiKeyRow.id == key_id).values(last_used_at=now))
        return row, None if person is None else person.name


def _account(session: Session, shop: str, name: str) -> StaffRow:
    row = find_account(session, name, shop=shop)
    if row is None or row.disabled_at is not None:
        raise NotFound(f"No account {name!r} in this shop", hint="`saycart staff list` lists all accounts.")
    return row


def _recorded(session: Session, now: datetime, action: str, row: ApiKeyRow, by: Actor) -> ApiKey:
    """Add an entry to the audit log and return the key as stored."""
    session.flush()
    key = _key(row, session.scalar(select(StaffRow.name).where(StaffRow.id == row.staff_id)))
    after = {
        "name": key.name,
        "scopes": " ".join(sorted(key.scopes)),
        "person": key.person,
        "expires_at": None if key.expires_at is None else key.expires_at.isoformat(),
    }
    record(session, now, by, action, ("key", key.id), shop=key.shop, after=after)
    return key


def _key(row: ApiKeyRow, person: str | None) -> ApiKey:
    named = {"shop": row.shop_id, "scopes": Scope.stored(row.scopes), "person": person}
    return ApiKey(**fields_of(row, ApiKey) | named, is_page=row.secret_hash is None)


def _new_id(chars: int) -> str:
    return "".join(secrets.choice(DIGITS) for _ in range(chars))
