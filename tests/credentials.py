"""Keys for tests, made as an operator makes them; and no limits on what these may ask."""

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
"""Settings for tests that ask thousands of times from one address and with one key, as no till does, on small
disks."""


def header_for(
    database: Database, *scopes: Scope, person: str | None = "ada", shop: str = MAIN_SHOP
) -> Header:
    """The header of a new key; without scopes it may do everything. `person` gets an account where there is
    none, in which nobody can sign in."""
    if person is not None:
        with database.everywhere().write() as session:
            if session.scalars(select(StaffRow).where(StaffRow.name == person)).first() is None:
                row = StaffRow(id=f"stf_{shop}_{person}", name=person, shop_id=shop, role="admin")
                row.password_hash, row.created_at = "none", datetime.now(UTC)
                session.add(row)
    _, token = KeyStore(database).add(shop, "tests", scopes or ALL_SCOPES, by=Actor("tests"), person=person)
    return {"Authorization": f"Bearer {token}"}


def header_at(url: str, **more: str | None) -> Header:
    """As `header_for`, with a key that may do everything, for the database of this URL."""
    database = Database(url)
    try:
        return header_for(database, **more)  # type: ignore[arg-type]
    finally:
        database.close()
