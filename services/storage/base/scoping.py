"""The rule that binds every store to one shop: a query without one can't be written by mistake.

A store is made for a shop, and adds it to each of its queries; what belongs to another shop is not there.
`EVERY_SHOP` is asked for by name, by those who work for all: workers, sweeper, operators at the machine.
On PostgreSQL the database is given the same shop, and then keeps to it by itself (ADR 58).
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


class OfShop:
    """A store of one shop's rows, or with `EVERY_SHOP` of all. A call is one transaction unless it says
    otherwise, and may raise StorageUnavailable in addition to what it names."""

    def __init__(self, database: Database, shop: str) -> None:
        self._database, self._shop = database_of(database, shop), shop

    def _one(self, session: Session, table: type[Row], key: str, *, hold: bool = False) -> Row:
        """The row with this id, if it is the shop's; else raises NotFound. `hold`: ours alone until the
        transaction ends."""
        row = session.get(table, key, with_for_update=hold or None)
        if row is None or self._shop not in (EVERY_SHOP, row.shop_id):  # type: ignore[attr-defined]
            raise NotFound(f"No {table.__tablename__.removesuffix('s').replace('_', ' ')} {key[:60]}")
        return row

    def _check_shop(self, session: Session, shop: str) -> None:
        """Raises NotFound unless this store may add rows of the shop."""
        if self._shop not in (EVERY_SHOP, shop):
            raise unknown_shop(shop)
        shop_row(session, shop)


def database_of(database: Database, shop: str) -> Database:
    """The handle by which a store of the shop works; raises ValueError as `bound` and `everywhere`."""
    return database.everywhere() if shop == EVERY_SHOP else database.bound(shop)


def of_shop(table: Any, shop: str) -> ColumnElement[bool]:
    """The condition that rows of `table` belong to the shop."""
    condition: ColumnElement[bool] = true() if shop == EVERY_SHOP else table.shop_id == shop
    return condition


def shop_row(session: Session, shop: str, *, hold: bool = False) -> ShopRow:
    """A shop's row, `hold`: ours alone until the transaction ends. Raises NotFound."""
    row = session.get(ShopRow, shop, with_for_update=hold or None)
    if row is None:
        raise unknown_shop(shop)
    return row


def unknown_shop(shop: str) -> NotFound:
    return NotFound(f"No shop {shop[:60]}", hint="`saycart shops list` lists all shops.")
