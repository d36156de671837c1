"""API keys for tests, and settings without rate limits."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import select

from infra.settings import Settings
from infra.sql.database import Database
from schemas.shops.access import ALL_SCOPES, MAIN_SHOP, Scope
from schemas.shops.audit import Actor
from services.storage.base.tables_staff import StaffRow
from services.storage.people.api_keys import KeyStore

Header = dict[str, str]

_PER = ("_per_minute", "_per_hour", "_per_day")
UNLIMITED: dict[str, Any] = {name: 0 for name in Settings.model_fields if name.endswith(_PER)}
UNLIMITED["least_free_bytes"] = 0
"""Settings for tests that send thousands of requests from one address with one key, on small disks."""


def header_for(
    database: Database, *scopes: Scope, person: str | None = "ada", shop: str = MAIN_SHOP
) -> Header:
    """Return the header of a new key, by default with all scopes. Creates an account for `person` if there is
    none; it has no usable password."""
    if person is not None:
        with database.everywhere().write() as session:
            if session.scalars(select(StaffRow).where(StaffRow.name == person)).first() is None:
                row = StaffRow(id=f"stf_{shop}_{person}", name=person, shop_id=shop, role="admin")
                row.password_hash, row.created_at = "none", datetime.now(UTC)
                session.add(row)
    _, token = KeyStore(database).add(shop, "tests", scopes or ALL_SCOPES, by=Actor("tests"), person=person)
    return {"Authorization": f"Bearer {token}"}


def header_at(url: str, **more: str | None) -> Header:
    """Return the header of a new key with all scopes for the database at this URL."""
    database = Database(url)
    try:
        return header_for(database, **more)  # type: ignore[arg-type]
    finally:
        database.close()
