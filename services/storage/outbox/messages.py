"""Writes the messages to the shop's system, inside the transaction that moves the order."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from schemas.cart import MenuRef
from schemas.lifecycle import STATUS
from schemas.records.orders import OrderRecord
from schemas.shops.webhook import TYPES, WebhookMessage, WebhookOrder
from services.storage.base.ids import new_id
from services.storage.base.tables import OutboxRow
from services.storage.base.tables_webhooks import WebhookEndpointRow


def tell(session: Session, now: datetime, order: OrderRecord) -> None:
    """Add the message of an order's new state, to each endpoint of its shop that asks for it.

    The version that was just won by compare-and-set is the message's place among those of its order.
    """
    if (kind := TYPES.get(order.state)) is None:
        return
    table = WebhookEndpointRow
    # Not whole: the secrets have no business here.
    query = select(table.id, table.events).where(table.shop_id == order.shop)
    for endpoint_id, events in session.execute(query.order_by(table.created_at, table.id)):
        if events is None or kind in events:
            session.add(_message(kind, endpoint_id, now, order))


def _message(kind: str, endpoint_id: str, now: datetime, order: OrderRecord) -> OutboxRow:
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
    return OutboxRow(
        id=new_id("msg"),
        order_id=order.id,
        endpoint_id=endpoint_id,
        seq=order.version,
        type=kind,
        payload=message.model_dump(mode="json"),
        version=1,
        attempt=0,
        created_at=now,
        due_at=now,
    )
