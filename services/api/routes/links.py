"""`POST /v1/orders/{id}/link`: a signed capability for one order, for its customer.

It names shop and order and is valid for `LINK_S`. Pages keep it in a cookie; a phone line or a till can send
the link.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from fastapi import APIRouter, Request
from itsdangerous import BadData, URLSafeTimedSerializer
from pydantic import BaseModel, Field

from schemas.described import Moment
from schemas.shops.access import Access, Scope
from services.api.deps import container, own_address
from services.api.gate.access import WritesOrders
from services.bootstrap import Container

LINK_S = 86_400

router = APIRouter(prefix="/v1/orders", tags=["orders"])

_HOLDER_SCOPES = frozenset({Scope.ORDERS_READ, Scope.ORDERS_WRITE})


class OrderLink(BaseModel):
    """Where a customer can follow, confirm and answer their order."""

    path: str = Field(description="path on the pages' site; anyone who has it can see and answer the order")
    url: str = Field(description="the same with its host: SAYCART_PUBLIC_URL, or the request's own")
    expires_at: Moment = Field(description="RFC 3339 UTC")


@router.post("/{order_id}/link", response_model=OrderLink)
def create_order_link(order_id: str, request: Request, box: WritesOrders) -> OrderLink:
    """Create a link to an order's page. It is for the order's customer."""
    order = box.orders.get(order_id)
    until = datetime.now(UTC) + timedelta(seconds=LINK_S)
    token = capability(container(request), box.shop, order.id)
    path = f"/orders/{order.id}?c={token}"
    return OrderLink(path=path, url=own_address(request, path), expires_at=until)


def capability(box: Container, shop: str, order_id: str) -> str:
    """Return the signed capability for one order."""
    return str(_signer(box).dumps([shop, order_id]))


def opened_by(box: Container, token: str, order_id: str) -> Access | None:
    """Return the access that a capability grants, or None if it is invalid, expired or for another order."""
    if not token:
        return None
    try:
        shop, order = _signer(box).loads(token, max_age=LINK_S)
        access = Access(shop=shop, actor="customer", scopes=_HOLDER_SCOPES, order=order)
    except (BadData, ValueError, TypeError):
        return None
    return access if order == order_id else None


def _signer(box: Container) -> URLSafeTimedSerializer:
    return URLSafeTimedSerializer(box.signing_keys, salt="saycart order")
