"""The rule that binds every store to one shop: a query without one can't be written by mistake.

A store is made for a shop, and adds it to each of its queries; what belongs to another shop is not there.
`EVERY_SHOP` is asked for by name, by those who work for all: workers, sweeper, operators at the machine.
"""

from __future__ import annotations

from typing import Any, TypeVar

from sqlalchemy import ColumnElement, true

from schemas.access import EVERY_SHOP
from services.storage.table_base import Base

Row = TypeVar("Row", bound=Base)


def of_shop(table: Any, shop: str) -> ColumnElement[bool]:
    """The condition that rows of `table` belong to the shop."""
    condition: ColumnElement[bool] = true() if shop == EVERY_SHOP else table.shop_id == shop
    return condition


def owned(row: Row | None, shop: str) -> Row | None:
    """The row, if it belongs to the shop; for rows that were found by their id."""
    belongs = row is not None and shop in (EVERY_SHOP, row.shop_id)  # type: ignore[attr-defined]
    return row if belongs else None
