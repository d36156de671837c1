"""Erasing what is held of an order. For a shop's administrators alone; a customer's orders are erased and
handed out by `saycart erase` and `saycart export`."""

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
    """Erase an order's data. Recording, words and metadata go; the priced lines stay. Twice is the same as
    once. 409 while the order is under way or waits for a person."""
    box.erase_order(order_id)
    return shown(*read(box, order_id))
