"""Toast: the body of `POST /orders/v2/orders`, which `POST /orders/v2/prices` takes as well.

Toast names an item by two ids, its menu group's and its own, so a `ref` is both: `GROUP/ITEM`; so is that of
a size, which is a modifier. It takes no prices, so what its menu can't come to is refused. It drops defaults
that an order doesn't name, and has no id for "no onions" or a note: these are special requests.
"""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import BaseModel

from schemas.shops.webhook import Refusal
from services.tills.orders.common import TillCart, TillLine, TillOption, TillOrder


class Reference(BaseModel):
    guid: str


class Selection(BaseModel):
    """An item, one of its modifiers, or a special request in words."""

    item: Reference | None = None
    itemGroup: Reference | None = None
    optionGroup: Reference | None = None
    quantity: int
    modifiers: list[Selection] = []
    selectionType: str | None = None
    displayName: str | None = None


class Check(BaseModel):
    externalId: str
    selections: list[Selection]


class Order(BaseModel):
    externalId: str
    diningOption: Reference | None
    checks: list[Check]


def toast_order(sold: TillCart, location: str | None) -> TillOrder:
    """Build the order for a Toast dining option. Toast refuses an external id that it has already."""
    own_id = f"saycart:{sold.order_id}"
    body = Order(
        externalId=own_id,
        diningOption=_reference(location),
        checks=[Check(externalId=f"{own_id}:1", selections=[_selection(line, sold) for line in sold.lines])],
    )
    return TillOrder(body, body, (*sold.refusals, *_refused(sold, location)))


def _refused(sold: TillCart, location: str | None) -> Iterator[Refusal]:
    if location is None:
        yield Refusal(code="no_location", message=sold.say("till_no_location", what="diningOption"))
    for line in sold.lines:
        sizes = [] if line.cart_line.size is None else [line.cart_line.size_ref]
        if not all(all(_pair(ref)) for ref in (line.cart_line.ref, *sizes)):
            yield sold.without_ref(line, line.name)
        for one in line.every_option():
            if one.portions and not all(_pair(one.ref, one.group_ref)):
                yield sold.without_ref(line, one.name)
    yield from sold.other_total(lambda line: line.plain_price)


def _selection(line: TillLine, sold: TillCart) -> Selection:
    quantity = line.cart_line.quantity
    sizes = (
        () if line.cart_line.size is None else (TillOption(line.cart_line.size_ref, None, line.name, 1, 0),)
    )
    requests = [
        Selection(selectionType="SPECIAL_REQUEST", displayName=note, quantity=quantity)
        for note in (*sold.notes, *line.notes)
    ]
    group, item = map(_reference, _pair(line.cart_line.ref))
    modifiers = [*_modifiers((*sizes, *line.options), quantity), *requests]
    return Selection(item=item, itemGroup=group, quantity=quantity, modifiers=modifiers)


def _modifiers(options: tuple[TillOption, ...], quantity: int) -> list[Selection]:
    """The modifiers of an item: each has to have its quantity, so what is wanted twice is there twice."""
    found = []
    for one in options:
        group, item = map(_reference, _pair(one.ref, one.group_ref))
        modifiers = _modifiers(one.inner, quantity)
        selection = Selection(optionGroup=group, item=item, quantity=quantity, modifiers=modifiers)
        found += [selection] * one.portions
    return found


def _pair(ref: str | None, group_ref: str | None = None) -> tuple[str | None, str | None]:
    """The ids of a group and of what is in it: `ref` has both, or the group has its own."""
    group, _, member = (ref or "").rpartition("/")
    return group_ref or group or None, member or None


def _reference(guid: str | None) -> Reference | None:
    return None if guid is None else Reference(guid=guid)
