"""Deliverect: the body of `POST /{channel}/order/{channelLinkId}`.

Items and options are known by their PLU, and each is sent with its price. An order is sent as one to be
picked up and paid at the shop: how it really is, who forwards it knows.
"""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import JsonValue

from schemas.wording import decimals
from services.tills.orders.common import Body, TillCart, TillLine, TillOption, TillOrder

PICKUP, OTHER_PAYMENT = 1, 9


def deliverect_order(sold: TillCart, _location: str | None) -> TillOrder:
    """Build the order. Where it goes is in the URL: the channel link of a location."""
    cart = sold.cart
    body: Body = {
        "channelOrderId": sold.order_id,
        "channelOrderDisplayId": sold.order_id[-6:],
        "orderType": PICKUP,
        "deliveryIsAsap": True,
        "courier": "restaurant",
        "decimalDigits": decimals(cart.currency),
        "payment": {"amount": cart.total, "type": OTHER_PAYMENT},
        "orderIsAlreadyPaid": False,
        "taxes": [{"name": tax.name, "total": tax.amount} for tax in cart.taxes],
        "items": [_item(line) for line in sold.lines],
        "note": "\n".join(sold.notes) or None,
    }
    return sold.order(body, sold.unknown(lambda option: not option.portions or option.ref is not None))


def _item(line: TillLine) -> Body:
    return {
        "plu": line.sold_as,
        "name": line.name,
        "price": line.cart_line.unit_price - line.options_price,
        "quantity": line.cart_line.quantity,
        "remark": "\n".join(line.notes) or None,
        "subItems": list(_sub_items(line.options)),
    }


def _sub_items(options: tuple[TillOption, ...]) -> Iterator[Body]:
    for one in options:
        for portions, price in one.parts():
            if portions:
                inner: list[JsonValue] = [*_sub_items(one.inner)]
                own: Body = {"plu": one.ref, "name": one.name, "price": price, "quantity": portions}
                yield own | {"subItems": inner}
