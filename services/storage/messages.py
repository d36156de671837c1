"""Writes the message to the shop's system, inside the transaction that moves the order."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy.orm import Session

from schemas.cart import MenuRef
from schemas.lifecycle import STATUS
from schemas.webhook import TYPES, WebhookMessage, WebhookOrder
from services.storage.ids import new_id
from services.storage.outbox_order import due_when_added
from services.storage.records import OrderRecord
from services.storage.tables import OutboxRow


def tell(session: Session, now: datetime, order: OrderRecord, types: frozenset[str]) -> None:
    """Add the message of an order's new state, if its type is among `types`.

    The version that was just won by compare-and-set is the message's place among those of its order.
    """
    kind = TYPES.get(order.state)
    if kind is None or kind not in types:
        return
    message = WebhookMessage(
        type=kind,
        timestamp=now,
        data=WebhookOrder(
            order_id=order.id,
            shop=order.shop,
            seq=order.version,
            status=STATUS[order.state],
            menu=MenuRef(id=order.menu_id, version=order.menu_version),
            cart=order.cart,
            metadata=order.metadata,
            error=order.error,
        ),
    )
    session.add(
        OutboxRow(
            id=new_id("msg"),
            order_id=order.id,
            seq=order.version,
            type=kind,
            payload=message.model_dump(mode="json"),
            version=1,
            attempt=0,
            created_at=now,
            due_at=due_when_added(order.id, now),
        )
    )
