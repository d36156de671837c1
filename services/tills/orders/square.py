"""Square: the bodies of `CreateOrder` and `CalculateOrder`.

An item is sold by its variation (`size_refs`, or the item's `ref`), an option is a modifier, a tax a catalog
tax. Square prices variations by its catalog; a modifier's price is sent, since Square has no free portions,
halves, or prices by size. Its taxes are rounded half to even.
"""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import BaseModel

from schemas.shops.webhook import Refusal
from services.tills.orders.common import TillCart, TillLine, TillOption, TillOrder


class Money(BaseModel):
    amount: int
    currency: str


class Modifier(BaseModel):
    uid: str
    parent_modifier_uid: str | None
    catalog_object_id: str | None
    quantity: str
    base_price_money: Money


class AppliedTax(BaseModel):
    tax_uid: str


class LineItem(BaseModel):
    uid: str
    quantity: str
    catalog_object_id: str | None
    note: str | None
    modifiers: list[Modifier]
    applied_taxes: list[AppliedTax]


class Tax(BaseModel):
    uid: str
    catalog_object_id: str | None
    scope: str = "LINE_ITEM"


class Order(BaseModel):
    location_id: str | None
    reference_id: str
    line_items: list[LineItem]
    taxes: list[Tax]


class CalculateOrder(BaseModel):
    order: Order


class CreateOrder(BaseModel):
    idempotency_key: str
    order: Order


def square_order(sold: TillCart, location: str | None) -> TillOrder:
    """Build the order for a Square location. An order that is sent twice is one order, by its own id."""
    order = Order(
        location_id=location,
        reference_id=sold.order_id,
        line_items=[_line_item(line, sold) for line in sold.lines],
        taxes=[Tax(uid=tax.id, catalog_object_id=tax.ref) for tax in sold.cart.taxes],
    )
    body = CreateOrder(idempotency_key=sold.order_id, order=order)
    return TillOrder(body, CalculateOrder(order=order), (*sold.refusals, *_refused(sold, location)))


def _refused(sold: TillCart, location: str | None) -> Iterator[Refusal]:
    if location is None:
        yield Refusal(code="no_location", message=sold.say("till_no_location", what="location_id"))
    yield from (sold.without_ref(None, tax.name) for tax in sold.cart.taxes if tax.ref is None)
    for line in sold.lines:
        if line.sold_as is None:
            yield sold.without_ref(line, line.name)
        yield from (sold.without_ref(line, one.name) for one in line.every_option() if one.ref is None)
    yield from sold.other_total(lambda line: line.menu_price + line.options_price, half_even=True)


def _line_item(line: TillLine, sold: TillCart) -> LineItem:
    return LineItem(
        uid=str(line.index),
        quantity=str(line.cart_line.quantity),
        catalog_object_id=line.sold_as,
        note="\n".join((*sold.notes, *line.notes)) or None,
        modifiers=list(_modifiers(line.options, str(line.index), sold.cart.currency)),
        applied_taxes=[AppliedTax(tax_uid=tax.id) for tax in sold.cart.taxes if tax.id == line.tax],
    )


def _modifiers(
    options: tuple[TillOption, ...], uid: str, currency: str, parent: str | None = None
) -> Iterator[Modifier]:
    """The modifiers of a line, those inside others behind them."""
    for number, one in enumerate(options):
        for part, (portions, price) in enumerate(one.parts()):
            own = f"{uid}-{number}.{part}"
            yield Modifier(
                uid=own,
                parent_modifier_uid=parent,
                catalog_object_id=one.ref,
                quantity=str(portions),
                base_price_money=Money(amount=price, currency=currency),
            )
            yield from _modifiers(one.inner, own, currency, own)
