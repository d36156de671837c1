"""Toast: the body of `POST /orders/v2/orders`, which `POST /orders/v2/prices` takes as well.

Toast identifies an item by its menu group and its own id, so a `ref` has both, `GROUP/ITEM`; so has that of a
size, which is a modifier. Toast takes no prices, so a total that its menu doesn't give is refused. It rounds
the tax of each line, by the rate's own `roundingType`. It leaves out defaults that an order doesn't name; "no
onions" and notes are special requests.
"""

from __future__ import annotations

from collections.abc import Iterator

from schemas.shops.webhook import Refusal
from services.tills.orders.common import Body, TillCart, TillLine, TillOption, TillOrder


def toast_order(cart: TillCart, location: str | None) -> TillOrder:
    """Build the order for a Toast dining option. Toast refuses an external id that it already has."""
    own_id = f"saycart:{cart.order_id}"
    selections = [_selection(line, cart) for line in cart.lines]
    body: Body = {
        "externalId": own_id,
        "diningOption": _reference(location),
        "checks": [{"externalId": f"{own_id}:1", "selections": [*selections]}],
    }
    return cart.order(body, _refused(cart, location))


def _refused(cart: TillCart, location: str | None) -> Iterator[Refusal]:
    if location is None:
        yield cart.refusal("no_location", what="diningOption")
    yield from cart.unknown(
        lambda option: not option.portions or _is_known(option),
        lambda line: all(_pair(line.cart_line.ref)) and all(map(_is_known, _sizes(line))),
    )
    yield from cart.other_total(lambda line: line.plain_price, per_line=True)


def _selection(line: TillLine, cart: TillCart) -> Body:
    quantity = line.cart_line.quantity
    group, item = map(_reference, _pair(line.cart_line.ref))
    requests: list[Body] = [
        {"selectionType": "SPECIAL_REQUEST", "displayName": note, "quantity": quantity}
        for note in (*cart.notes, *line.notes)
    ]
    modifiers = [*_modifiers((*_sizes(line), *line.options), quantity), *requests]
    return {"item": item, "itemGroup": group, "quantity": quantity, "modifiers": [*modifiers]}


def _sizes(line: TillLine) -> tuple[TillOption, ...]:
    """Return the size as a modifier."""
    size = TillOption(line.cart_line.size_ref, None, line.name, portions=1, price=0)
    return () if line.cart_line.size is None else (size,)


def _modifiers(options: tuple[TillOption, ...], quantity: int) -> list[Body]:
    """Return an item's modifiers. Each must have the item's quantity, so one wanted twice is listed twice."""
    modifiers: list[Body] = []
    for one in options:
        group, item = map(_reference, _pair(one.ref, one.group_ref))
        inner = _modifiers(one.inner, quantity)
        modifier: Body = {"optionGroup": group, "item": item, "quantity": quantity, "modifiers": [*inner]}
        modifiers += [modifier] * one.portions
    return modifiers


def _is_known(option: TillOption) -> bool:
    return all(_pair(option.ref, option.group_ref))


def _pair(ref: str | None, group_ref: str | None = None) -> tuple[str | None, str | None]:
    """Return the ids of a group and its member: `ref` has both, or the group has its own."""
    group, _, member = (ref or "").rpartition("/")
    return group_ref or group or None, member or None


def _reference(guid: str | None) -> Body | None:
    return None if guid is None else {"guid": guid}
