"""What a credential opens: the token of a key, or the key of an order page."""

from __future__ import annotations

import hmac
import re
from datetime import datetime

from sqlalchemy import select, update

from infra.sql.database import Database
from schemas.shops.access import VISITOR_SCOPES, Access, Scope
from services.storage.base.changes import glancing, writing
from services.storage.base.ids import DIGITS
from services.storage.base.scoping import OfShop
from services.storage.base.tables import ApiKeyRow
from services.storage.base.tables_staff import StaffRow
from services.storage.people.sessions import hash_token

ID_CHARS, PAGE_ID_CHARS = 10, 20
_TOKEN = re.compile(rf"saycart_([{DIGITS}]{{{ID_CHARS}}})_([A-Za-z0-9_-]{{43}})", re.ASCII)
_PAGE_KEY = re.compile(rf"[{DIGITS}]{{{PAGE_ID_CHARS}}}", re.ASCII)
USED_S = 60
"""Last use is written down at most so often: a write for each request would cost more than the request."""


class KeyAccess(OfShop):
    """Looks credentials up, of any shop."""

    def __init__(self, database: Database, shop: str) -> None:
        super().__init__(database, shop)
        self._every = database.everywhere()

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
        if row.secret_hash is None or not hmac.compare_digest(row.secret_hash, hash_token(secret)):
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
        if not is_good(row, now) or (person is not None and person.disabled_at is not None):
            return None
        if row.last_used_at is None or (now - row.last_used_at).total_seconds() > USED_S:
            self._used(key_id, now)
        return row, None if person is None else person.name

    def _used(self, key_id: str, now: datetime) -> None:
        with writing(self._every) as (session, _):
            session.execute(update(ApiKeyRow).where(ApiKeyRow.id == key_id).values(last_used_at=now))


def is_good(row: ApiKeyRow, now: datetime) -> bool:
    """Return whether the key was neither revoked nor has ended."""
    return row.revoked_at is None and (row.expires_at is None or now < row.expires_at)
