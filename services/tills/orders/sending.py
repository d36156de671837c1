"""Orders in a till's format, for `saycart till dry-run` and for webhook endpoints that name a till."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from infra.webhooks import Target
from schemas.lifecycle import State
from schemas.priced_cart import Cart
from schemas.shops.webhook import TYPES, Till
from services.storage.shops.menus import MenuStore
from services.tills.orders.common import TillCart, TillOrder, till_cart
from services.tills.orders.deliverect import deliverect_order
from services.tills.orders.square import square_order
from services.tills.orders.toast import toast_order

_TILLS: dict[Till, Callable[[TillCart, str | None], TillOrder]] = {
    "square": square_order,
    "toast": toast_order,
    "deliverect": deliverect_order,
}


def till_order(till: Till, order_id: str, cart: Cart, menus: MenuStore, location: str | None) -> TillOrder:
    """Build a till's order from a cart, by the newest version of the menu as of now."""
    menu = menus.get(cart.menu.id).menu.at(datetime.now(UTC))
    return _TILLS[till](till_cart(order_id, cart, menu), location)


def in_till_form(menus: MenuStore, target: Target, payload: dict[str, Any]) -> dict[str, Any]:
    """Return the body of a message to a target.

    A completed order has the format of the target's till, if it names one. Any other message has ours, and so
    has an order that the till would refuse, with the refusals.
    """
    if target.till is None or payload["type"] != TYPES[State.COMPLETED]:
        return payload
    order = payload["data"]
    cart, own = Cart.model_validate(order["cart"]), menus.of(order["shop"])
    sent = till_order(target.till, order["order_id"], cart, own, target.location)
    if sent.refusals:
        refusals = [refusal.model_dump() for refusal in sent.refusals]
        return payload | {"data": order | {"refusals": refusals}}
    return sent.body
