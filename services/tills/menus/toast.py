"""Toast menus: the response of `/menus/v2/menus`, which refers to modifier groups and options by number.

Toast identifies an item by its menu group and its own id, so a `ref` has both, `GROUP/ITEM`; so has that of a
size, which is an option in a group of sizes. The menu file has no prices that depend on the hour, or on how
many options came before: what has them is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from schemas.menu import Option, OptionGroup
from schemas.menus.hours import Hours
from services.tills.menus.draft import Draft, either, new_option
from services.tills.menus.imported import ImportedMenu, Overrides
from services.tills.menus.source import Node

IGNORED = frozenset(
    """lastUpdated multiLocationId masterId posName posButtonColorLight posButtonColorDark kitchenName plu sku
    isDeferred isDiscountable salesCategory prepTime prepStations guestCount sortOrder
    eligiblePaymentAssistancePrograms isMultiSelect length height width dimensionUnitOfMeasure weight
    weightUnitOfMeasure sizeGuid timeSpecificPricingRules taxInfo catalogProductInfo referenceId""".split()
)


def read(document: object, overrides: Overrides) -> ImportedMenu:
    """Convert the document; raises InvalidMenu if it has another shape."""
    toast = Node(document)
    menus = toast.each("menus")
    fields = {
        "name": menus[0].text("name") if menus else "",
        "ref": toast.text("restaurantGuid"),
        "time_zone": toast.text("restaurantTimeZone"),
    }
    draft = Draft(toast, overrides.applied_to(fields, "Toast menu"))
    reader = _Reader(draft, toast.keyed("modifierGroupReferences"), toast.keyed("modifierOptionReferences"))
    sold: dict[str, list[_Place]] = {}
    for menu in menus:
        for place in _places(menu, menu.each("menuGroups")):
            sold.setdefault(place.item.text("guid"), []).append(place)
    for places in sold.values():
        reader.add_item(places)
    draft.skip("/menus", "rates of taxes, which Toast has elsewhere: give the menu `taxes` that items name")
    return draft.finish(IGNORED)


class _Place(NamedTuple):
    """An item on one of its menus."""

    menu: Node
    group: Node
    item: Node


def _places(menu: Node, groups: Iterable[Node]) -> Iterator[_Place]:
    for group in groups:
        yield from (_Place(menu, group, item) for item in group.each("menuItems"))
        yield from _places(menu, group.each("menuGroups"))


def _hours(menu: Node) -> Iterator[Hours]:
    """Yield a menu's hours, unless it is always available. Toast's whole day is 00:00 to 00:00."""
    always = menu.flag("availability.alwaysAvailable") is not False
    for one in () if always else menu.each("availability.schedule"):
        days = tuple(day[:3].lower() for day in one.texts("days"))
        for time in one.each("timeRanges"):
            start, end = time.text("start"), time.text("end")
            whole = start == end == "00:00"
            yield Hours.model_construct(days=days, start=start, end="24:00" if whole else end)  # type: ignore[arg-type]


def _fixed(part: Node) -> Decimal | None:
    """Return the price, or None if it depends on the hour."""
    return None if part.text("pricingStrategy") == "TIME_SPECIFIC_PRICE" else part.amount("price")


def _free_and_prices(group: Node) -> tuple[int, dict[str, Decimal]] | None:
    """Return how many options are free, and the price of the others by size; None if that varies."""
    free, by_size = set[int](), dict[str, Decimal]()
    for rule in group.each("pricingRules.sizeSequencePricingRules"):
        in_turn = sorted(rule.each("sequencePrices"), key=lambda one: one.integer("sequence") or 0)
        prices = [one.amount("price") or Decimal(0) for one in in_turn]
        first = next((i for i, price in enumerate(prices) if price), 0)
        if len({*prices[first:]}) != 1:
            return None
        free.add(first)
        by_size[rule.text("sizeName")] = prices[first]
    return None if len(free) > 1 else (max(free, default=0), by_size)


@dataclass(slots=True)
class _Reader:
    draft: Draft
    sources: Mapping[str, Node]
    options: Mapping[str, Node]

    def add_item(self, places: list[_Place]) -> None:
        """Add an item once, with the hours of all menus that it is on."""
        item, group = places[0].item, places[0].group
        name, price, sizes = item.text("name"), _fixed(item), self.sizes(item)
        if (price is None and not sizes) or any(one.item.amount("price") != price for one in places):
            return self.draft.skip(item.place, f"“{name}” is left out: its price is open, or differs")
        offers = sizes or [("", price or Decimal(0), "")]
        minor = [(size, self.draft.minor(amount, item.place), ref) for size, amount, ref in offers]
        self.draft.add_item(
            item.place,
            name=name,
            ref=f"{group.text('guid')}/{item.text('guid')}",
            category=group.text("name"),
            description=item.text("description"),
            image=item.text("image"),
            option_groups=self.groups_of(item, name),
            hours=either(_hours(one.menu) for one in places),
            **self.draft.priced(minor),
        )

    def sizes(self, part: Node) -> list[tuple[str, Decimal, str]]:
        """Return name, price and ref of each size that an item or option is priced by."""
        return [
            (option.text("name"), price, f"{group.text('guid')}/{option.text('guid')}")
            for group in self.sources.values()
            if self.is_sizes(group, part)
            for option in self.options_of(group)
            if (price := option.amount("price")) is not None
        ]

    def is_sizes(self, group: Node, part: Node) -> bool:
        return group.text("guid") == part.text("pricingRules.sizeSpecificPricingGuid") != ""

    def groups_of(self, part: Node, item: str) -> tuple[str, ...]:
        """Return the group ids of an item or option, without that of its sizes."""
        own = [key for key in _numbers(part, "modifierGroupReferences") if key in self.sources]
        keys = [key for key in own if not self.is_sizes(self.sources[key], part)]
        groups = self.draft.groups_of(keys, lambda key: self.group(self.sources[key], item))
        return tuple(group.id for group in groups)

    def options_of(self, group: Node) -> list[Node]:
        numbers = _numbers(group, "modifierOptionReferences")
        return [self.options[number] for number in numbers if number in self.options]

    def group(self, source: Node, item: str) -> OptionGroup | None:
        """Convert a modifier group; None if it is left out."""
        name, lack, options = source.text("name"), self.draft.skip, self.options_of(source)
        if (free_and_prices := _free_and_prices(source)) is None:
            lack(source.place, f"“{name}” is left out: prices depend on how many came before")
            return None
        free, prices = free_and_prices
        if source.text("defaultOptionsSubstitutionPricing") == "YES":
            lack(source.place, f"“{name}” sets a default that is left off against other options")
        repeatable = [bool(option.flag("allowsDuplicates")) for option in options]
        if any(repeatable) and not all(repeatable):
            lack(source.place, f"which options of “{name}” may be had more than once")
        required = source.text("requiredMode") == "REQUIRED"
        return self.draft.add_group(
            source.place,
            name=name,
            ref=source.text("guid"),
            min=source.integer("minSelections") or int(required),
            max=source.integer("maxSelections"),
            max_each=None if any(repeatable) else 1,
            free=free,
            options=list(filter(None, (self.option(one, prices, item) for one in options))),
            defaults=[option.text("guid") for option in options if option.flag("isDefault")],
            charged=source.text("defaultOptionsChargePrice") != "NO",
            item=item,
        )

    def option(self, source: Node, of_group: Mapping[str, Decimal], item: str) -> Option | None:
        """Convert a modifier option, priced by itself or by its group; None if it is left out."""
        amount, prices = _fixed(source), {size: price for size, price, _ in self.sizes(source)}
        if source.text("pricingStrategy") == "GROUP_PRICE" and amount is None:
            prices = dict(of_group)
        if not prices and amount is None:
            why = f"“{source.text('name')}” is left out: its price is open, or differs by time"
            self.draft.skip(source.place, why)
            return None
        minor = {size: self.draft.minor(price, source.place) for size, price in prices.items()}
        return new_option(
            name=source.text("name"),
            ref=source.text("guid"),
            # Toast has no price for items without these sizes: charge the highest.
            price=max(minor.values()) if minor else self.draft.minor(amount or Decimal(0), source.place),
            prices={self.draft.size(size): price for size, price in minor.items() if size},
            option_groups=self.groups_of(source, item),
        )


def _numbers(part: Node, path: str) -> list[str]:
    """Return numbers as the keys that they are in JSON."""
    return [str(one.value) for one in part.each(path)]
