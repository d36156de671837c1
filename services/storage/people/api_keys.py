"""Keys of shops: made once, shown once, kept as a hash.

`saycart_ID_SECRET`: the id finds the row and may be shown; the secret is 256 random bits, of which the row
holds the SHA-256. (No slow hash: 256 bits are not guessed, and each request pays for it.) A page key is an id
alone: it stands in the address of a shop's order page, and opens no more than that page.
"""

from __future__ import annotations

import builtins
import secrets
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from schemas.errors import Conflict, InputError, NotFound
from schemas.shops.access import EVERY_SHOP, VISITOR_SCOPES, Access, Scope
from schemas.shops.audit import Actor
from services.storage.audit.log import record
from services.storage.base.changes import reading, writing
from services.storage.base.ids import DIGITS, cursor_after, paged
from services.storage.base.scoping import of_shop
from services.storage.base.tables import ApiKeyRow
from services.storage.base.tables_staff import StaffRow
from services.storage.people.key_access import ID_CHARS, PAGE_ID_CHARS, KeyAccess, is_good
from services.storage.people.key_grants import Grant
from services.storage.people.sessions import hash_token, new_token

MAX_NAME_CHARS = 80


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


class KeyStore(KeyAccess):
    """Keys of a shop."""

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
        secret = new_token()
        with writing(self._database) as (session, now):
            key_id = _new_id(ID_CHARS)
            row = self._new(session, now, key_id, shop, name, lasts_s)
            row.expires_at = grant.end(row.expires_at) if grant else row.expires_at
            row.secret_hash, row.scopes = hash_token(secret), sorted(scopes)
            row.staff_id = None if person is None else _account(session, shop, person).id
            return self._recorded(session, now, "key.added", row, by), f"saycart_{key_id}_{secret}"

    def add_page(self, shop: str, name: str, *, by: Actor) -> ApiKey:
        """Make the public key of an order page, its id.

        Raises:
            NotFound: no such shop.
        """
        with writing(self._database) as (session, now):
            key_id = _new_id(PAGE_ID_CHARS)
            row = self._new(session, now, key_id, shop, name, None)
            row.scopes = sorted(VISITOR_SCOPES)
            return self._recorded(session, now, "key.added", row, by)

    def list(self, *, limit: int | None = None, after: str | None = None) -> builtins.list[ApiKey]:
        """Every key, or up to `limit`, oldest first, those that are over included; `after` is the `cursor` of
        the last one that was seen.

        Raises:
            InputError: not a cursor of ours.
        """
        query = paged(ApiKeyRow, after, limit).where(of_shop(ApiKeyRow, self._shop))
        query = query.add_columns(StaffRow.name).outerjoin(StaffRow, StaffRow.id == ApiKeyRow.staff_id)
        with reading(self._database) as session:
            return [_key(row, person) for row, person in session.execute(query)]

    def grant(self, access: Access) -> Grant:
        """What a caller may hand on in a key: see `key_grants.py`."""
        with reading(self._database) as session:
            row = session.get(ApiKeyRow, access.actor.removeprefix("key:"))
            own = row is not None and access.shop in (EVERY_SHOP, row.shop_id)
            return Grant(access.person, row.expires_at if row is not None and own else None)

    def revoke(self, key_id: str, *, by: Actor) -> ApiKey:
        """End a key now; one that was revoked stays so.

        Raises:
            NotFound: no such key.
        """
        with writing(self._database) as (session, now):
            row = self._existing(session, key_id)
            row.revoked_at = row.revoked_at or now
            return self._recorded(session, now, "key.revoked", row, by)

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
        secret = new_token()
        with writing(self._database) as (session, now):
            old = self._existing(session, key_id)
            if old.secret_hash is None or not is_good(old, now):
                raise Conflict(f"Key {key_id} can't be rotated", hint="Make a new one: `saycart keys add`.")
            if grant is not None:
                grant.check(old.scopes, _stored(session, old).person)
            expires_at = None if old.expires_at is None else now + (old.expires_at - old.created_at)
            new = ApiKeyRow(
                id=_new_id(ID_CHARS),
                shop_id=old.shop_id,
                name=old.name,
                family=old.family,
                secret_hash=hash_token(secret),
                scopes=old.scopes,
                staff_id=old.staff_id,
                created_at=now,
                expires_at=grant.end(expires_at) if grant else expires_at,
            )
            end = now + timedelta(seconds=overlap_s)
            old.expires_at = end if old.expires_at is None else min(end, old.expires_at)
            session.add(new)
            return self._recorded(session, now, "key.rotated", new, by), f"saycart_{new.id}_{secret}"

    def _new(
        self, session: Session, now: datetime, key_id: str, shop: str, name: str, lasts_s: float | None
    ) -> ApiKeyRow:
        self._check_shop(session, shop)
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

    def _recorded(self, session: Session, now: datetime, action: str, row: ApiKeyRow, by: Actor) -> ApiKey:
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
        row = self._owned(session, ApiKeyRow, key_id)
        if row is None:
            raise NotFound(f"No key {key_id[:60]}", hint="`saycart keys list` lists all keys.")
        return row


def _account(session: Session, shop: str, name: str) -> StaffRow:
    query = select(StaffRow).where(StaffRow.shop_id == shop, StaffRow.name == name)
    row = session.scalars(query).one_or_none()
    if row is None or row.disabled_at is not None:
        raise NotFound(f"No account {name!r} in this shop", hint="`saycart staff list` lists all accounts.")
    return row


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
    return "".join(secrets.choice(DIGITS) for _ in range(chars))
