"""Square: the bodies of `CreateOrder` and `CalculateOrder`.

An item is a variation (`size_refs`, or the item's `ref`), an option a modifier, a tax a catalog tax. Square
prices variations by its catalog. Modifiers' prices are sent, since Square has no free portions, halves, or
prices by size. It rounds taxes half to even.
"""

from __future__ import annotations

from collections.abc import Iterator

from schemas.shops.webhook import Refusal
from services.tills.orders.common import Body, TillCart, TillLine, TillOption, TillOrder


def square_order(cart: TillCart, location: str | None) -> TillOrder:
    """Build the order for a Square location. By its idempotency key, sending it twice makes one order."""
    order: Body = {
        "location_id": location,
        "reference_id": cart.order_id,
        "line_items": [_line_item(line, cart) for line in cart.lines],
        "taxes": [
            {"uid": tax.id, "catalog_object_id": tax.ref, "scope": "LINE_ITEM"} for tax in cart.priced.taxes
        ],
    }
    return cart.order({"idempotency_key": cart.order_id, "order": order}, _refused(cart, location))


def _refused(cart: TillCart, location: str | None) -> Iterator[Refusal]:
    if location is None:
        yield cart.refusal("no_location", what="location_id")
    yield from (cart.refusal("no_ref", name=tax.name) for tax in cart.priced.taxes if tax.ref is None)
    yield from cart.unknown(lambda option: option.ref is not None)
    yield from cart.other_total(
        lambda line: line.menu_price + line.options_price, rounding="half_even", per_line=False
    )


def _line_item(line: TillLine, cart: TillCart) -> Body:
    return {
        "uid": str(line.index),
        "quantity": str(line.cart_line.quantity),
        "catalog_object_id": line.sold_as,
        "note": "\n".join((*cart.notes, *line.notes)) or None,
        "modifiers": list(_modifiers(line.options, str(line.index), cart.priced.currency)),
        "applied_taxes": [{"tax_uid": tax.id} for tax in cart.priced.taxes if tax.id == line.tax],
    }


def _modifiers(
    options: tuple[TillOption, ...], uid: str, currency: str, parent: str | None = None
) -> Iterator[Body]:
    """Yield the modifiers of a line, each followed by those within it."""
    for number, one in enumerate(options):
        for part, (portions, price) in enumerate(one.parts()):
            own = f"{uid}-{number}.{part}"
            yield {
                "uid": own,
                "parent_modifier_uid": parent,
                "catalog_object_id": one.ref,
                "quantity": str(portions),
                "base_price_money": {"amount": price, "currency": currency},
            }
            yield from _modifiers(one.inner, own, currency, own)
