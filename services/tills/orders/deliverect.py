"""Deliverect: the body of `POST /{channel}/order/{channelLinkId}`.

Items and options have a PLU, and are sent with their prices. Every order is sent as a pickup that is paid at
the shop; your server changes that where it isn't.
"""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import JsonValue

from schemas.wording import decimals
from services.tills.orders.common import Body, TillCart, TillLine, TillOption, TillOrder

PICKUP, OTHER_PAYMENT = 1, 9


def deliverect_order(cart: TillCart, _location: str | None) -> TillOrder:
    """Build the order. Its location, a channel link, is in the URL."""
    priced = cart.priced
    body: Body = {
        "channelOrderId": cart.order_id,
        "channelOrderDisplayId": cart.order_id[-6:],
        "orderType": PICKUP,
        "deliveryIsAsap": True,
        "courier": "restaurant",
        "decimalDigits": decimals(priced.currency),
        "payment": {"amount": priced.total, "type": OTHER_PAYMENT},
        "orderIsAlreadyPaid": False,
        "taxes": [{"name": tax.name, "total": tax.amount} for tax in priced.taxes],
        "items": [_item(line) for line in cart.lines],
        "note": "\n".join(cart.notes) or None,
    }
    return cart.order(body, cart.unknown(lambda option: not option.portions or option.ref is not None))


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
