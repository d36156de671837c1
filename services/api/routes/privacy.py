"""Erasure of an order's data, for administrators of its shop. `saycart erase` and `saycart export` do all
orders of a customer."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from schemas.order import Order
from services.api.gate.access import Administers
from services.api.problems import CONFLICT
from services.api.routes.orders import read, shown

router = APIRouter(tags=["privacy"])


@router.delete("/v1/orders/{order_id}/data", response_model=Order, responses=CONFLICT)
def erase_order(order_id: str, box: Administers) -> Response:
    """Erase an order's data. Deletes recording, words and metadata; the priced lines stay. Idempotent. 409
    while the order is in progress or waits for a person."""
    box.erase_order(order_id)
    return shown(*read(box, order_id))
