"""Keys of shops: made once, shown once, kept as a hash.

`saycart_ID_SECRET`: the id finds the row and may be told; the secret is 256 random bits, of which the row
holds the SHA-256. (No slow hash: nobody guesses 256 bits, and each request pays for it.) A page key is an id
alone: it stands in the address of a shop's order page, and opens no more than that page.
"""

from __future__ import annotations

import builtins
import hashlib
import hmac
import re
import secrets
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from infra.sql.database import Database
from schemas.errors import Conflict, InputError, NotFound
from schemas.shops.access import EVERY_SHOP, VISITOR_SCOPES, Access, Scope
from schemas.shops.audit import Actor
from services.storage.audit.log import record
from services.storage.base.changes import glancing, reading, writing
from services.storage.base.ids import after_cursor, cursor_after
from services.storage.base.scoping import database_of, of_shop, owned
from services.storage.base.tables import ApiKeyRow, ShopRow
from services.storage.base.tables_staff import StaffRow
from services.storage.people.key_grants import Grant

_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32
_ID_CHARS, _PAGE_ID_CHARS = 10, 20
_TOKEN = re.compile(rf"saycart_([{_DIGITS}]{{{_ID_CHARS}}})_([A-Za-z0-9_-]{{43}})", re.ASCII)
_PAGE_KEY = re.compile(rf"[{_DIGITS}]{{{_PAGE_ID_CHARS}}}", re.ASCII)
MAX_NAME_CHARS = 80
USED_S = 60
"""Last use is written down at most so often: a write for each request would cost more than the request."""


@dataclass(frozen=True, slots=True)
class ApiKey:
    """One key without its secret. `is_page`: the public key of a shop's order page. `person` is the account
    that it acts for, whose name then stands under reviews."""

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

    @property
    def cursor(self) -> str:
        """Where a list goes on after this key."""
        return cursor_after(self.created_at, self.id)


class KeyStore:
    """Every call is one transaction, and may raise StorageUnavailable beside what it names. Bound to a shop,
    or to `EVERY_SHOP` for operators; `access` looks a credential up, whosever it is."""

    def __init__(self, database: Database, shop: str) -> None:
        self._database, self._shop = database_of(database, shop), shop
        self._every = database.everywhere()

    def add(
        self,
        shop: str,
        name: str,
        scopes: Collection[Scope],
        *,
        by: Actor,
        person: str | None = None,
        lasts_s: float | None = None,
        grant: Grant | None = None,
    ) -> tuple[ApiKey, str]:
        """Make a key for `lasts_s` seconds, or for good; the key, and the token that is never shown again.
        `grant`: what the caller may hand on; None for an operator, who may all.

        Raises:
            Forbidden: the grant does not reach so far.
            InputError: no or an overlong name, no scopes, or the scope `reviews` without a person.
            NotFound: no such shop, or no such account in it.
        """
        name = name.strip()
        if not 1 <= len(name) <= MAX_NAME_CHARS or not name.isprintable():
            raise InputError(f"A key's name has 1 to {MAX_NAME_CHARS} printable characters")
        if not scopes:
            raise InputError("A key needs a scope", hint=f"Of {', '.join(Scope)}.")
        if Scope.REVIEWS in scopes and person is None:
            raise InputError(
                "A key with the scope `reviews` needs a person", hint="Name the account: `--person NAME`."
            )
        if grant is not None:
            grant.check(scopes, person)
        secret = secrets.token_urlsafe(32)
        with writing(self._database) as (session, now):
            key_id = _new_id(_ID_CHARS)
            row = self._new(session, now, key_id, shop, name, lasts_s)
            row.expires_at = grant.end(row.expires_at) if grant else row.expires_at
            row.secret_hash, row.scopes = _hash(secret), sorted(scopes)
            row.staff_id = None if person is None else _account(session, shop, person).id
            return self._told(session, now, "key.added", row, by), f"saycart_{key_id}_{secret}"

    def add_page(self, shop: str, name: str, *, by: Actor) -> ApiKey:
        """Make the public key of an order page, its id.

        Raises:
            NotFound: no such shop.
        """
        with writing(self._database) as (session, now):
            key_id = _new_id(_PAGE_ID_CHARS)
            row = self._new(session, now, key_id, shop, name, None)
            row.scopes = sorted(VISITOR_SCOPES)
            return self._told(session, now, "key.added", row, by)

    def list(self, *, limit: int | None = None, after: str | None = None) -> builtins.list[ApiKey]:
        """Every key, or up to `limit`, oldest first, those that are over included; `after` is the `cursor` of
        the last one that was seen.

        Raises:
            InputError: not a cursor of ours.
        """
        query = select(ApiKeyRow, StaffRow.name).outerjoin(StaffRow, StaffRow.id == ApiKeyRow.staff_id)
        query = query.where(of_shop(ApiKeyRow, self._shop)).limit(limit)
        if after is not None:
            query = query.where(after_cursor(ApiKeyRow, after))
        with reading(self._database) as session:
            rows = session.execute(query.order_by(ApiKeyRow.created_at, ApiKeyRow.id))
            return [_key(row, person) for row, person in rows]

    def grant(self, access: Access) -> Grant:
        """What a caller may hand on in a key: see `key_grants.py`."""
        with reading(self._database) as session:
            row = owned(session.get(ApiKeyRow, access.actor.removeprefix("key:")), access.shop)
            return Grant(access.person, None if row is None else row.expires_at)

    def revoke(self, key_id: str, *, by: Actor) -> ApiKey:
        """End a key now; one that was revoked stays so.

        Raises:
            NotFound: no such key.
        """
        with writing(self._database) as (session, now):
            row = self._existing(session, key_id)
            row.revoked_at = row.revoked_at or now
            return self._told(session, now, "key.revoked", row, by)

    def rotate(
        self, key_id: str, overlap_s: float, *, by: Actor, grant: Grant | None = None
    ) -> tuple[ApiKey, str]:
        """A new key like an old one, which ends `overlap_s` seconds from now; the new key and its token.
        `grant`: as `add`.

        Raises:
            Forbidden: the grant does not reach so far.
            NotFound: no such key.
            Conflict: it is over, or a page key, which has no secret to change.
        """
        secret = secrets.token_urlsafe(32)
        with writing(self._database) as (session, now):
            old = self._existing(session, key_id)
            if old.secret_hash is None or not _good(old, now):
                raise Conflict(f"Key {key_id} can't be rotated", hint="Make a new one: `saycart keys add`.")
            if grant is not None:
                grant.check(old.scopes, _stored(session, old).person)
            expires_at = None if old.expires_at is None else now + (old.expires_at - old.created_at)
            new = ApiKeyRow(
                id=_new_id(_ID_CHARS),
                shop_id=old.shop_id,
                name=old.name,
                family=old.family,
                secret_hash=_hash(secret),
                scopes=old.scopes,
                staff_id=old.staff_id,
                created_at=now,
                expires_at=grant.end(expires_at) if grant else expires_at,
            )
            end = now + timedelta(seconds=overlap_s)
            old.expires_at = end if old.expires_at is None else min(end, old.expires_at)
            session.add(new)
            return self._told(session, now, "key.rotated", new, by), f"saycart_{new.id}_{secret}"

    def access(self, token: str) -> Access | None:
        """What a token opens; None for one that is unknown, over, or of a person who may no more."""
        parts = _TOKEN.fullmatch(token)
        if parts is None:
            return None
        key_id, secret = parts.groups()
        found = self._good(key_id)
        if found is None:
            return None
        row, person = found
        if row.secret_hash is None or not hmac.compare_digest(row.secret_hash, _hash(secret)):
            return None
        scopes = Scope.stored(row.scopes)
        return Access(
            shop=row.shop_id, actor=f"key:{row.id}", scopes=scopes, person=person, family=f"key:{row.family}"
        )

    def page_access(self, key_id: str) -> Access | None:
        """What a page key opens; None for one that is unknown or over."""
        found = self._good(key_id) if _PAGE_KEY.fullmatch(key_id) else None
        if found is None or found[0].secret_hash is not None:
            return None
        row = found[0]
        return Access(shop=row.shop_id, actor="page", scopes=VISITOR_SCOPES, family=f"page:{row.family}")

    def _good(self, key_id: str) -> tuple[ApiKeyRow, str | None] | None:
        """The row of a key that is not over, and its person; one message to the database."""
        query = select(ApiKeyRow, StaffRow, self._database.clock()).outerjoin(
            StaffRow, StaffRow.id == ApiKeyRow.staff_id
        )
        with glancing(self._every) as session:
            found = session.execute(query.where(ApiKeyRow.id == key_id)).one_or_none()
        if found is None:
            return None
        row, person, now = found
        if not _good(row, now) or (person is not None and person.disabled_at is not None):
            return None
        if row.last_used_at is None or (now - row.last_used_at).total_seconds() > USED_S:
            self._used(key_id, now)
        return row, None if person is None else person.name

    def _used(self, key_id: str, now: datetime) -> None:
        with writing(self._every) as (session, _):
            session.execute(update(ApiKeyRow).where(ApiKeyRow.id == key_id).values(last_used_at=now))

    def _new(
        self, session: Session, now: datetime, key_id: str, shop: str, name: str, lasts_s: float | None
    ) -> ApiKeyRow:
        if self._shop not in (EVERY_SHOP, shop) or session.get(ShopRow, shop) is None:
            raise NotFound(f"No shop {shop[:60]}", hint="`saycart shops list` lists all shops.")
        expires_at = None if lasts_s is None else now + timedelta(seconds=lasts_s)
        row = ApiKeyRow(
            id=key_id,
            shop_id=shop,
            name=name,
            family=key_id,
            scopes=[],
            created_at=now,
            expires_at=expires_at,
        )
        session.add(row)
        return row

    def _told(self, session: Session, now: datetime, action: str, row: ApiKeyRow, by: Actor) -> ApiKey:
        """The key as stored, with an entry of the audit log."""
        key = _stored(session, row)
        after = {
            "name": key.name,
            "scopes": " ".join(sorted(key.scopes)),
            "person": key.person,
            "family": row.family,
            "expires_at": None if key.expires_at is None else key.expires_at.isoformat(),
        }
        record(session, now, by, action, ("key", key.id), shop=key.shop, after=after)
        return key

    def _existing(self, session: Session, key_id: str) -> ApiKeyRow:
        row = owned(session.get(ApiKeyRow, key_id), self._shop)
        if row is None:
            raise NotFound(f"No key {key_id[:60]}", hint="`saycart keys list` lists all keys.")
        return row


def _account(session: Session, shop: str, name: str) -> StaffRow:
    query = select(StaffRow).where(StaffRow.shop_id == shop, StaffRow.name == name)
    row = session.scalars(query).one_or_none()
    if row is None or row.disabled_at is not None:
        raise NotFound(f"No account {name!r} in this shop", hint="`saycart staff list` lists all accounts.")
    return row


def _good(row: ApiKeyRow, now: datetime) -> bool:
    return row.revoked_at is None and (row.expires_at is None or now < row.expires_at)


def _stored(session: Session, row: ApiKeyRow) -> ApiKey:
    session.flush()
    return _key(row, session.scalar(select(StaffRow.name).where(StaffRow.id == row.staff_id)))


def _key(row: ApiKeyRow, person: str | None) -> ApiKey:
    return ApiKey(
        id=row.id,
        shop=row.shop_id,
        name=row.name,
        scopes=Scope.stored(row.scopes),
        is_page=row.secret_hash is None,
        person=person,
        created_at=row.created_at,
        expires_at=row.expires_at,
        revoked_at=row.revoked_at,
        last_used_at=row.last_used_at,
    )


def _new_id(chars: int) -> str:
    return "".join(secrets.choice(_DIGITS) for _ in range(chars))


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
