"""Deliverect: the body of `POST /{channel}/order/{channelLinkId}`.

Items and options are known by their PLU, and each is sent with its price. An order is sent as one to be
picked up and paid at the shop: how it really is, who forwards it knows.
"""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import BaseModel

from schemas.shops.webhook import Refusal
from schemas.wording import decimals
from services.tills.orders.common import TillCart, TillLine, TillOption, TillOrder

PICKUP, OTHER_PAYMENT = 1, 9


class Item(BaseModel):
    """An item or an option; a price is that of one."""

    plu: str | None
    name: str
    price: int
    quantity: int
    remark: str | None = None
    subItems: list[Item] = []


class Tax(BaseModel):
    name: str
    total: int


class Payment(BaseModel):
    amount: int
    type: int


class Order(BaseModel):
    channelOrderId: str
    channelOrderDisplayId: str
    orderType: int
    deliveryIsAsap: bool
    courier: str
    decimalDigits: int
    payment: Payment
    orderIsAlreadyPaid: bool
    taxes: list[Tax]
    items: list[Item]
    note: str | None


def deliverect_order(sold: TillCart, _location: str | None) -> TillOrder:
    """Build the order. Where it goes is in the URL: the channel link of a location."""
    cart = sold.cart
    body = Order(
        channelOrderId=sold.order_id,
        channelOrderDisplayId=sold.order_id[-6:],
        orderType=PICKUP,
        deliveryIsAsap=True,
        courier="restaurant",
        decimalDigits=decimals(cart.currency),
        payment=Payment(amount=cart.total, type=OTHER_PAYMENT),
        orderIsAlreadyPaid=False,
        taxes=[Tax(name=tax.name, total=tax.amount) for tax in cart.taxes],
        items=[_item(line) for line in sold.lines],
        note="\n".join(sold.notes) or None,
    )
    return TillOrder(body, body, (*sold.refusals, *_refused(sold)))


def _refused(sold: TillCart) -> Iterator[Refusal]:
    for line in sold.lines:
        if line.sold_as is None:
            yield sold.without_ref(line, line.name)
        for one in line.every_option():
            if one.portions and one.ref is None:
                yield sold.without_ref(line, one.name)


def _item(line: TillLine) -> Item:
    return Item(
        plu=line.sold_as,
        name=line.name,
        price=line.cart_line.unit_price - line.options_price,
        quantity=line.cart_line.quantity,
        remark="\n".join(line.notes) or None,
        subItems=list(_sub_items(line.options)),
    )


def _sub_items(options: tuple[TillOption, ...]) -> Iterator[Item]:
    for one in options:
        for portions, price in one.parts():
            if portions:
                inner = list(_sub_items(one.inner))
                yield Item(plu=one.ref, name=one.name, price=price, quantity=portions, subItems=inner)
