"""Finding a customer's orders. By metadata alone are they tied to one, under a name of the shop's own."""

from __future__ import annotations

import json

from sqlalchemy import Text, cast, func, select

from services.storage.base.changes import reading
from services.storage.base.scoping import OfShop
from services.storage.base.tables import OrderRow


class CustomerStore(OfShop):
    """Orders of one shop's customers."""

    def orders(self, key: str, value: str) -> list[str]:
        """Ids of the orders whose metadata has `key` on top with exactly this text, oldest first.

        No index holds metadata, so this reads the shop's orders that still have any, of as many days as
        transcripts are kept: 3 s at a million orders on SQLite.
        """
        # Read by SQL for the value as it is written in JSON, which leaves few; the key is compared here. No
        # operator of JSON: on PostgreSQL one document with a NUL would end the query for all.
        text = cast(OrderRow.metadata_, Text)
        find = func.instr if self._database.is_sqlite else func.strpos
        query = (
            select(OrderRow.id, OrderRow.metadata_)
            .where(OrderRow.shop_id == self._shop, OrderRow.metadata_.is_not(None))
            .where(find(text, json.dumps(value)) > 0)
            .order_by(OrderRow.created_at, OrderRow.id)
        )
        with reading(self._database) as session:
            return [
                order_id
                for order_id, metadata in session.execute(query)
                if metadata and metadata.get(key) == value
            ]
