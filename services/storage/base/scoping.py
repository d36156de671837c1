"""Binds each store to one shop: its queries see only that shop's rows.

Workers, the sweeper and operators ask for `EVERY_SHOP` explicitly. PostgreSQL enforces the same by row-level
security (ADR 58).
"""

from __future__ import annotations

from typing import Any, TypeVar

from sqlalchemy import ColumnElement, true
from sqlalchemy.orm import Session

from infra.sql.database import Database
from schemas.errors import NotFound
from schemas.shops.access import EVERY_SHOP
from services.storage.base.table_base import Base
from services.storage.base.tables import ShopRow

Row = TypeVar("Row", bound=Base)


class OfAllShops:
    """A store of what belongs to no shop, or of all shops' rows."""

    def __init__(self, database: Database) -> None:
        self._database = database.everywhere()


class OfShop:
    """A store of one shop's rows, or of all with `EVERY_SHOP`. Each call is one transaction unless it says
    otherwise. Any call may also raise StorageUnavailable."""

    def __init__(self, database: Database, shop: str) -> None:
        self._database, self._shop = database_of(database, shop), shop

    def _one(self, session: Session, table: type[Row], key: str, *, hold: bool = False) -> Row:
        """Return the shop's row with this id; `hold` locks it. Raises NotFound."""
        row = session.get(table, key, with_for_update=hold or None)
        if row is None or self._shop not in (EVERY_SHOP, row.shop_id):  # type: ignore[attr-defined]
            raise NotFound(f"No {table.__tablename__.removesuffix('s').replace('_', ' ')} {key[:60]}")
        return row

    def _check_shop(self, session: Session, shop: str) -> None:
        """Raise NotFound unless this store may add rows of the shop."""
        if self._shop not in (EVERY_SHOP, shop):
            raise unknown_shop(shop)
        shop_row(session, shop)


def database_of(database: Database, shop: str) -> Database:
    """Return the shop's database handle; raises ValueError as `bound` and `everywhere`."""
    return database.everywhere() if shop == EVERY_SHOP else database.bound(shop)


def of_shop(table: Any, shop: str) -> ColumnElement[bool]:
    """Return the condition that rows of `table` belong to the shop."""
    condition: ColumnElement[bool] = true() if shop == EVERY_SHOP else table.shop_id == shop
    return condition


def shop_row(session: Session, shop: str, *, hold: bool = False) -> ShopRow:
    """Return a shop's row; `hold` locks it. Raises NotFound."""
    row = session.get(ShopRow, shop, with_for_update=hold or None)
    if row is None:
        raise unknown_shop(shop)
    return row


def unknown_shop(shop: str) -> NotFound:
    return NotFound(f"No shop {shop[:60]}", hint="`saycart shops list` lists all shops.")
