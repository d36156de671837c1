"""What all parts of the order store share."""

from __future__ import annotations

from sqlalchemy.orm import Session

from infra.sql.database import Database
from schemas.errors import NotFound
from services.storage.base.scoping import OfShop
from services.storage.base.tables import OrderRow


class OrdersOfShop(OfShop):
    """Orders of one shop; workers ask for `EVERY_SHOP`."""

    def __init__(self, database: Database, shop: str, tells: frozenset[str] = frozenset()) -> None:
        """`tells`: types of the messages that are written to the outbox; see `schemas/shops/webhook.py`."""
        super().__init__(database, shop)
        self._tells = tells

    def _held(self, session: Session, order_id: str) -> OrderRow:
        """The order's row, ours alone until the transaction ends; raises NotFound."""
        row = self._owned(session, OrderRow, order_id, hold=True)
        if row is None:
            raise unknown_order(order_id)
        return row


def unknown_order(order_id: str) -> NotFound:
    return NotFound(f"No order {order_id}")
