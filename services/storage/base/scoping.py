"""The rule that binds every store to one shop: a query without one can't be written by mistake.

A store is made for a shop, and adds it to each of its queries; what belongs to another shop is not there.
`EVERY_SHOP` is asked for by name, by those who work for all: workers, sweeper, operators at the machine.
On PostgreSQL the same shop is told to the database, which then keeps to it by itself (ADR 58).
"""

from __future__ import annotations

from typing import Any, TypeVar

from sqlalchemy import ColumnElement, true

from infra.sql.database import Database
from schemas.shops.access import EVERY_SHOP
from services.storage.base.table_base import Base

Row = TypeVar("Row", bound=Base)


def database_of(database: Database, shop: str) -> Database:
    """The handle by which a store of the shop works; raises ValueError as `bound` and `everywhere`."""
    return database.everywhere() if shop == EVERY_SHOP else database.bound(shop)


def of_shop(table: Any, shop: str) -> ColumnElement[bool]:
    """The condition that rows of `table` belong to the shop."""
    condition: ColumnElement[bool] = true() if shop == EVERY_SHOP else table.shop_id == shop
    return condition


def owned(row: Row | None, shop: str) -> Row | None:
    """The row, if it belongs to the shop; for rows that were found by their id."""
    belongs = row is not None and shop in (EVERY_SHOP, row.shop_id)  # type: ignore[attr-defined]
    return row if belongs else None
