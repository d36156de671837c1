"""Toast's menus: the answer of `/menus/v2/menus`, which refers to modifier groups and options by number.

Toast names an item by the ids of its menu group and its own, so a `ref` is both, `GROUP/ITEM`; so is that of
a size, which is an option of a group made for it. Prices that depend on the hour, or on how many options
came before, have no place in the menu file: what has them is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

from schemas.menu import Option, OptionGroup
from schemas.menus.hours import Hours
from services.tills.menus.imported import Draft, Given, ImportedMenu, either, new_option
from services.tills.menus.source import Node

IGNORED = frozenset(
    """lastUpdated multiLocationId masterId posName posButtonColorLight posButtonColorDark kitchenName plu sku
    isDeferred isDiscountable salesCategory prepTime prepStations guestCount sortOrder
    eligiblePaymentAssistancePrograms isMultiSelect length height width dimensionUnitOfMeasure weight
    weightUnitOfMeasure sizeGuid timeSpecificPricingRules taxInfo catalogProductInfo referenceId""".split()
)


def read(document: object, given: Given) -> ImportedMenu:
    """Raises InvalidMenu for a document that isn't of Toast's shape."""
    toast = Node(document)
    menus = toast.each("menus")
    fields = {
        "name": menus[0].text("name") if menus else "",
        "ref": toast.text("restaurantGuid"),
        "time_zone": toast.text("restaurantTimeZone"),
    }
    draft = Draft(toast, given.over(fields, "Toast menu"))
    reader = _Reader(draft, toast.keyed("modifierGroupReferences"), toast.keyed("modifierOptionReferences"))
    sold: dict[str, list[_Place]] = {}
    for menu in menus:
        for place in _places(menu, menu.each("menuGroups")):
            sold.setdefault(place.item.text("guid"), []).append(place)
    for places in sold.values():
        reader.add_item(places)
    draft.lack("/menus", "rates of taxes, which Toast has elsewhere: give the menu `taxes` that items name")
    return draft.finish(IGNORED)


@dataclass(frozen=True, slots=True)
class _Place:
    """An item in one of the menus that it is on."""

    menu: Node
    group: Node
    item: Node


def _places(menu: Node, groups: Iterable[Node]) -> Iterator[_Place]:
    for group in groups:
        yield from (_Place(menu, group, item) for item in group.each("menuItems"))
        yield from _places(menu, group.each("menuGroups"))


def _hours(menu: Node) -> Iterator[Hours]:
    """None where it is always available; Toast's whole day is from 00:00 to 00:00."""
    always = menu.flag("availability.alwaysAvailable") is not False
    for one in () if always else menu.each("availability.schedule"):
        days = tuple(day[:3].lower() for day in one.texts("days"))
        for time in one.each("timeRanges"):
            start, end = time.text("start"), time.text("end")
            whole = start == end == "00:00"
            yield Hours.model_construct(days=days, start=start, end="24:00" if whole else end)  # type: ignore[arg-type]


def _fixed(part: Node) -> Decimal | None:
    """A price that doesn't depend on the hour."""
    return None if part.text("pricingStrategy") == "TIME_SPECIFIC_PRICE" else part.amount("price")


def _free_and_prices(group: Node) -> tuple[int, dict[str, Decimal]] | None:
    """How many options cost nothing, and by size what each further one does; None where these differ."""
    free, by_size = set[int](), dict[str, Decimal]()
    for rule in group.each("pricingRules.sizeSequencePricingRules"):
        in_turn = sorted(rule.each("sequencePrices"), key=lambda one: one.whole("sequence") or 0)
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
            return self.draft.lack(item.place, f"“{name}” is left out: its price is open, or differs")
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
        """Name, price and ref of each size, where a group prices something by size."""
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
        """The ids of the groups of an item or an option, but for that of its sizes."""
        own = [key for key in _numbers(part, "modifierGroupReferences") if key in self.sources]
        keys = [key for key in own if not self.is_sizes(self.sources[key], part)]
        groups = self.draft.groups_of(keys, lambda key: self.group(self.sources[key], item))
        return tuple(group.id for group in groups)

    def options_of(self, group: Node) -> list[Node]:
        numbers = _numbers(group, "modifierOptionReferences")
        return [self.options[number] for number in numbers if number in self.options]

    def group(self, source: Node, item: str) -> OptionGroup | None:
        """A modifier group as an option group; None for one that is left out."""
        name, lack, options = source.text("name"), self.draft.lack, self.options_of(source)
        if (found := _free_and_prices(source)) is None:
            lack(source.place, f"“{name}” is left out: prices depend on how many came before")
            return None
        free, prices = found
        if source.text("defaultOptionsSubstitutionPricing") == "YES":
            lack(source.place, f"“{name}” sets a default that is left off against other options")
        often = [bool(option.flag("allowsDuplicates")) for option in options]
        if any(often) and not all(often):
            lack(source.place, f"which options of “{name}” may be had more than once")
        required = source.text("requiredMode") == "REQUIRED"
        return self.draft.add_group(
            source.place,
            name=name,
            ref=source.text("guid"),
            min=source.whole("minSelections") or int(required),
            max=source.whole("maxSelections"),
            max_each=None if any(often) else 1,
            free=free,
            options=[made for one in options if (made := self.option(one, prices, item))],
            defaults=[option.text("guid") for option in options if option.flag("isDefault")],
            charged=source.text("defaultOptionsChargePrice") != "NO",
            item=item,
        )

    def option(self, source: Node, of_group: Mapping[str, Decimal], item: str) -> Option | None:
        """A modifier option; its price is its own or, by size or not, that of its group."""
        amount, prices = _fixed(source), {size: price for size, price, _ in self.sizes(source)}
        if source.text("pricingStrategy") == "GROUP_PRICE" and amount is None:
            prices = dict(of_group)
        if not prices and amount is None:
            why = f"“{source.text('name')}” is left out: its price is open, or differs by time"
            self.draft.lack(source.place, why)
            return None
        minor = {size: self.draft.minor(price, source.place) for size, price in prices.items()}
        return new_option(
            name=source.text("name"),
            ref=source.text("guid"),
            # On items without these sizes, for which Toast has no price, the dearest.
            price=max(minor.values()) if minor else self.draft.minor(amount or Decimal(0), source.place),
            prices={self.draft.size(size): price for size, price in minor.items() if size},
            option_groups=self.groups_of(source, item),
        )


def _numbers(part: Node, path: str) -> list[str]:
    """References as the keys that they are in JSON."""
    return [str(one.value) for one in part.each(path)]
