"""Erasing and handing out what is held of a customer. For a shop's administrators alone.

Who a customer is, only the shop knows: it names a key of its own metadata and the value there. Both come in
the body, never in the address, which proxies and logs keep.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response, StreamingResponse

from schemas.order import Order
from services.api.gate.access import Administers
from services.api.gate.bodies import body
from services.api.problems import CONFLICT
from services.api.routes.orders import read, shown
from services.api.takeout import zipped

router = APIRouter(tags=["privacy"])

_ZIP: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/zip": {}}, "description": "`orders.jsonl` and `recordings/`"}
}


class Customer(BaseModel):
    """All orders whose metadata has `key` on top with exactly this text as its value."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"key": "phone", "value": "555-0142"}]}
    )

    key: str = Field(min_length=1, max_length=200)
    value: str = Field(min_length=1, max_length=2000)


class CustomerErased(BaseModel):
    """Ids of orders. Those `under_way` were left as they are: cancel them or wait, then call again."""

    erased: list[str]
    under_way: list[str]


Named = Annotated[Customer, Depends(body(Customer))]


@router.delete("/v1/orders/{order_id}/data", response_model=Order, responses=CONFLICT)
def erase_order(order_id: str, box: Administers) -> Response:
    """Erase an order's data. Recording, words and metadata go; the priced lines stay. Twice is the same as
    once. 409 while the order is under way or waits for a person."""
    box.erase_order(order_id)
    return shown(*read(box, order_id))


@router.post("/v1/customers/erase", response_model=CustomerErased)
def erase_customer(box: Administers, named: Named) -> CustomerErased:
    """Erase a customer's data. As `erase_order`, of each of their orders that has ended."""
    erased, under_way = box.erase_customer(named.key, named.value)
    return CustomerErased(erased=erased, under_way=under_way)


@router.post("/v1/customers/export", response_class=Response, responses=_ZIP)
def export_customer(box: Administers, named: Named) -> Response:
    """Export a customer's data. As a ZIP: orders as this API shows them, one a line, and
    recordings. Without any it has no line."""
    found = box.erasures.of_customer(named.key, named.value)
    headers = {"Cache-Control": "no-store", "Content-Disposition": 'attachment; filename="customer.zip"'}
    return StreamingResponse(zipped(box, found), media_type="application/zip", headers=headers)
