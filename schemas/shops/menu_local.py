"""What is a shop's own of a menu that it has from its chain: other prices, and what is sold out.

Only differences are kept, by the ids of what they are about. So the chain may change all the rest, and a
price that the shop has set stands until the shop sets another, or the chain sells it in other sizes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from pydantic import BaseModel, ConfigDict

from schemas.errors import InvalidMenu
from schemas.menu import Id, Item, Menu, Money, Note, Option
from schemas.shops.menu_diff import steps

_P = TypeVar("_P", Item, Option)


class Mark(BaseModel):
    """What differs of one item or option; what is None is as in the chain's menu."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    price: Money | None = None
    prices: dict[Id, Money] | None = None
    available: bool | None = None


class Local(BaseModel):
    """A shop's marks: of items by sku, of options by group and id."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    items: dict[Id, Mark] = {}
    options: dict[Id, dict[Id, Mark]] = {}

    @classmethod
    def of(cls, base: Menu, own: Menu) -> Local:
        """What makes `own` of `base`.

        Raises:
            InvalidMenu: they differ in more than marks can say, with a pointer to each such place.
        """
        items = {item.sku: item for item in own.items}
        options = {(group.id, option.id): option for group in own.option_groups for option in group.options}
        local = cls(
            items=dict(_marks((i.sku, i, items.get(i.sku)) for i in base.items)),
            options={
                group.id: marks
                for group in base.option_groups
                if (marks := dict(_marks((o.id, o, options.get((group.id, o.id))) for o in group.options)))
            },
        )
        made = local.on(base)
        if made != own:
            sentence = "comes with the chain's menu: here only prices and what is sold out can differ"
            others = [(step.pointer, sentence) for step in steps(made, own)]
            raise InvalidMenu(others or [("/", f"the order of its parts {sentence}")])
        return local

    def on(self, base: Menu) -> Menu:
        """The shop's menu: `base` with the marks that fit it."""
        if not self.items and not self.options:
            return base
        items = tuple(_marked(item, self.items.get(item.sku)) for item in base.items)
        groups = tuple(
            group.model_copy(
                update={"options": tuple(_marked(o, self.options[group.id].get(o.id)) for o in group.options)}
            )
            if group.id in self.options
            else group
            for group in base.option_groups
        )
        return base.model_copy(update={"items": items, "option_groups": groups})

    def unused(self, base: Menu) -> list[Note]:
        """Marks that no part of `base` takes any more, by what they are about: their prices do not hold."""
        items = {item.sku: item for item in base.items}
        options = {(group.id, option.id): option for group in base.option_groups for option in group.options}
        about: list[tuple[str, Mark, Item | Option | None]] = [
            (f"/items/{sku}", mark, items.get(sku)) for sku, mark in self.items.items()
        ]
        for group, marks in self.options.items():
            path = f"/option_groups/{group}/options"
            about += [(f"{path}/{o}", mark, options.get((group, o))) for o, mark in marks.items()]
        notes = []
        for path, mark, part in about:
            if part is None:
                notes.append((path, "is not in the chain's menu any more"))
            elif mark.price is not None and part.price is None:
                notes.append((path, "has prices by size in the chain's menu now"))
            elif isinstance(part, Item) and mark.prices is not None and {*mark.prices} - {*part.size_ids}:
                notes.append((path, "comes in other sizes in the chain's menu now"))
        return notes


def _marks(parts: Iterator[tuple[str, _P, _P | None]]) -> Iterator[tuple[str, Mark]]:
    """A mark for each part that its shop has otherwise; what it lacks is no matter of marks."""
    for name, base, own in parts:
        if own is None or own == base:
            continue
        mark: dict[str, object] = {}
        if own.available != base.available:
            mark["available"] = own.available
        if own.price is not None and base.price is not None and own.price != base.price:
            mark["price"] = own.price
        if differing := _differing(base, own):
            mark["prices"] = differing
        if mark:
            yield name, Mark.model_validate(mark)


def _differing(base: object, own: object) -> dict[str, int]:
    """A shop's prices by size, of an item, where they are not the base's; of sizes that both have."""
    if not (isinstance(base, Item) and isinstance(own, Item) and base.prices and own.prices):
        return {}
    prices = {size: own.prices[size] for size in base.size_ids if size in own.prices}
    return {size: price for size, price in prices.items() if price != base.prices[size]}


def _marked(part: _P, mark: Mark | None) -> _P:
    if mark is None:
        return part
    update: dict[str, object] = {}
    if mark.available is not None:
        update["available"] = mark.available
    if mark.price is not None and part.price is not None:
        update["price"] = mark.price
    if isinstance(part, Item) and mark.prices and part.prices:
        own = {size: price for size, price in mark.prices.items() if size in part.prices}
        update["prices"] = {**part.prices, **own}
    return part.model_copy(update=update) if update else part
