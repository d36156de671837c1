"""Messages to the shop's system, written inside the transaction that moves the order."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from schemas.compare import corrections
from schemas.lifecycle import STATUS, State
from schemas.open_questions import question_of
from schemas.priced_cart import MenuRef
from schemas.records.orders import OrderRecord
from schemas.shops.webhook import ASKS, CHANGED, TAKEN, TYPES, WebhookMessage, WebhookOrder
from services.storage.base.ids import new_id
from services.storage.base.tables import OutboxRow, WebhookEndpointRow


def add_messages(session: Session, now: datetime, before: OrderRecord, order: OrderRecord) -> None:
    """Add a message about the order's new state for each endpoint of its shop that subscribes to it. The
    order's version is its sequence number."""
    if not (kinds := _kinds(before, order)):
        return
    data = WebhookOrder(
        order_id=order.id,
        shop=order.shop,
        seq=order.version,
        status=STATUS[order.state],
        menu=MenuRef(id=order.menu_id, version=order.menu_version),
        cart=order.cart,
        question=question_of(order),
        changed=list(corrections(before.cart or order.before, order.cart)),
        metadata=order.metadata,
        error=order.error,
    )
    table = WebhookEndpointRow
    query = select(table.id, table.events).where(table.shop_id == order.shop)
    for endpoint_id, events in session.execute(query.order_by(table.created_at, table.id)):
        if kind := next((kind for kind in kinds if events is None or kind in events), None):
            session.add(_message(WebhookMessage(type=kind, timestamp=now, data=data), endpoint_id, now))


def _kinds(before: OrderRecord, order: OrderRecord) -> list[str]:
    """Return the types of the message that an endpoint may subscribe to, most specific first; empty while the
    order is being processed."""
    if order.taken_at != before.taken_at:
        return [TAKEN]
    if (by_state := TYPES.get(order.state)) is None:
        return []
    if question_of(order) is not None:
        return [ASKS, by_state]
    more_was_added = order.state is State.PROPOSED and before.cart is None and order.before is not None
    return [CHANGED, by_state] if more_was_added or before.state is order.state else [by_state]


def _message(message: WebhookMessage, endpoint_id: str, now: datetime) -> OutboxRow:
    return OutboxRow(
        id=new_id("msg"),
        order_id=message.data.order_id,
        endpoint_id=endpoint_id,
        seq=message.data.seq,
        type=message.type,
        payload=message.model_dump(mode="json"),
        created_at=now,
        due_at=now,
    )
