"""Toast: the body of `POST /orders/v2/orders`, which `POST /orders/v2/prices` takes as well.

Toast names an item by two ids, its menu group's and its own, so a `ref` is both: `GROUP/ITEM`; so is that of
a size, which is a modifier. It takes no prices, so what its menu can't come to is refused. It drops defaults
that an order doesn't name, and has no id for "no onions" or a note: these are special requests.
"""

from __future__ import annotations

from collections.abc import Iterator

from schemas.shops.webhook import Refusal
from services.tills.orders.common import Body, TillCart, TillLine, TillOption, TillOrder


def toast_order(sold: TillCart, location: str | None) -> TillOrder:
    """Build the order for a Toast dining option. Toast refuses an external id that it has already."""
    own_id = f"saycart:{sold.order_id}"
    selections = [_selection(line, sold) for line in sold.lines]
    body: Body = {
        "externalId": own_id,
        "diningOption": _reference(location),
        "checks": [{"externalId": f"{own_id}:1", "selections": [*selections]}],
    }
    return sold.order(body, _refused(sold, location))


def _refused(sold: TillCart, location: str | None) -> Iterator[Refusal]:
    yield from sold.nowhere(location, "diningOption")
    yield from sold.unknown(
        lambda option: not option.portions or _is_known(option),
        lambda line: all(_pair(line.cart_line.ref)) and all(map(_is_known, _sizes(line))),
    )
    yield from sold.other_total(lambda line: line.plain_price)


def _selection(line: TillLine, sold: TillCart) -> Body:
    quantity = line.cart_line.quantity
    group, item = map(_reference, _pair(line.cart_line.ref))
    requests: list[Body] = [
        {"selectionType": "SPECIAL_REQUEST", "displayName": note, "quantity": quantity}
        for note in (*sold.notes, *line.notes)
    ]
    modifiers = [*_modifiers((*_sizes(line), *line.options), quantity), *requests]
    return {"item": item, "itemGroup": group, "quantity": quantity, "modifiers": [*modifiers]}


def _sizes(line: TillLine) -> tuple[TillOption, ...]:
    """The size, which is a modifier too."""
    size = TillOption(line.cart_line.size_ref, None, line.name, portions=1, price=0)
    return () if line.cart_line.size is None else (size,)


def _modifiers(options: tuple[TillOption, ...], quantity: int) -> list[Body]:
    """The modifiers of an item: each has to have its quantity, so what is wanted twice is there twice."""
    found: list[Body] = []
    for one in options:
        group, item = map(_reference, _pair(one.ref, one.group_ref))
        inner = _modifiers(one.inner, quantity)
        modifier: Body = {"optionGroup": group, "item": item, "quantity": quantity, "modifiers": [*inner]}
        found += [modifier] * one.portions
    return found


def _is_known(option: TillOption) -> bool:
    return all(_pair(option.ref, option.group_ref))


def _pair(ref: str | None, group_ref: str | None = None) -> tuple[str | None, str | None]:
    """The ids of a group and of what is in it: `ref` has both, or the group has its own."""
    group, _, member = (ref or "").rpartition("/")
    return group_ref or group or None, member or None


def _reference(guid: str | None) -> Body | None:
    return None if guid is None else {"guid": guid}
