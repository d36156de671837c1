"""Square: the bodies of `CreateOrder` and `CalculateOrder`.

An item is sold by its variation (`size_refs`, or the item's `ref`), an option is a modifier, a tax a catalog
tax. Square prices variations by its catalog; a modifier's price is sent, since Square has no free portions,
halves, or prices by size. Its taxes are rounded half to even.
"""

from __future__ import annotations

from collections.abc import Iterator

from schemas.shops.webhook import Refusal
from services.tills.orders.common import Body, TillCart, TillLine, TillOption, TillOrder


def square_order(sold: TillCart, location: str | None) -> TillOrder:
    """Build the order for a Square location. An order that is sent twice is one order, by its own id."""
    order: Body = {
        "location_id": location,
        "reference_id": sold.order_id,
        "line_items": [_line_item(line, sold) for line in sold.lines],
        "taxes": [
            {"uid": tax.id, "catalog_object_id": tax.ref, "scope": "LINE_ITEM"} for tax in sold.cart.taxes
        ],
    }
    body: Body = {"idempotency_key": sold.order_id, "order": order}
    return sold.order(body, _refused(sold, location), calculate={"order": order})


def _refused(sold: TillCart, location: str | None) -> Iterator[Refusal]:
    yield from sold.nowhere(location, "location_id")
    yield from (sold.without_ref(tax.name) for tax in sold.cart.taxes if tax.ref is None)
    yield from sold.unknown(lambda option: option.ref is not None)
    yield from sold.other_total(lambda line: line.menu_price + line.options_price, round)


def _line_item(line: TillLine, sold: TillCart) -> Body:
    return {
        "uid": str(line.index),
        "quantity": str(line.cart_line.quantity),
        "catalog_object_id": line.sold_as,
        "note": "\n".join((*sold.notes, *line.notes)) or None,
        "modifiers": list(_modifiers(line.options, str(line.index), sold.cart.currency)),
        "applied_taxes": [{"tax_uid": tax.id} for tax in sold.cart.taxes if tax.id == line.tax],
    }


def _modifiers(
    options: tuple[TillOption, ...], uid: str, currency: str, parent: str | None = None
) -> Iterator[Body]:
    """The modifiers of a line, those inside others behind them."""
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
