"""Writes the messages to the shop's system, inside the transaction that moves the order."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Row, select
from sqlalchemy.orm import Session

from schemas.cart import MenuRef
from schemas.lifecycle import STATUS
from schemas.records.orders import OrderRecord
from schemas.shops.webhook import TO_ENDPOINTS, TYPES, WebhookMessage, WebhookOrder
from services.storage.base.ids import new_id
from services.storage.base.tables import OutboxRow
from services.storage.base.tables_webhooks import WebhookEndpointRow
from services.storage.outbox.outbox_order import OWN_URL


def tell(session: Session, now: datetime, order: OrderRecord, types: frozenset[str]) -> None:
    """Add the message of an order's new state, to each endpoint of its shop that asks for it; for a shop
    without any to the deployment's URL, if the type is among `types`.

    The version that was just won by compare-and-set is the message's place among those of its order.
    """
    kind = TYPES.get(order.state)
    if kind is None or not types:
        return
    endpoints = _endpoints(session, order.shop) if TO_ENDPOINTS in types else []
    if endpoints:
        on = [one for one in endpoints if one.disabled_at is None]
        wanted = [one.id for one in on if one.events is None or kind in one.events]
    else:
        wanted = [OWN_URL] if kind in types else []
    for endpoint_id in wanted:
        session.add(_message(kind, endpoint_id, now, order))


def _endpoints(session: Session, shop: str) -> Sequence[Row[tuple[str, list[Any] | None, datetime | None]]]:
    table = WebhookEndpointRow
    # Not whole: the secrets have no business here.
    query = select(table.id, table.events, table.disabled_at).where(table.shop_id == shop)
    return session.execute(query.order_by(table.created_at, table.id)).all()


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
