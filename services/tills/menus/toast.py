"""Toast's menus: the answer of `/menus/v2/menus`, which refers to modifier groups and options by number.

Toast names an item by the ids of its menu group and its own, so a `ref` is both, `GROUP/ITEM`; so is that of
a size, which is an option of a group made for it. Prices that depend on the hour, or on how many options
came before, have no place in the menu file: what has them is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from pydantic import ConfigDict
from pydantic.alias_generators import to_camel

from schemas.menu import Item, Option, OptionGroup
from schemas.menus.hours import Hours
from services.tills.menus.imported import Draft, Given, ImportedMenu, either
from services.tills.menus.source import Source, at

IGNORED = frozenset(
    """lastUpdated multiLocationId masterId posName posButtonColorLight posButtonColorDark kitchenName plu sku
    isDeferred isDiscountable salesCategory prepTime prepStations guestCount sortOrder images highResImage
    eligiblePaymentAssistancePrograms isMultiSelect length height width dimensionUnitOfMeasure weight
    weightUnitOfMeasure sizeGuid sequence timeSpecificPricingRules taxInfo catalogProductInfo""".split()
)


class Toast(Source):
    model_config = ConfigDict(alias_generator=to_camel)

    name: str = ""
    guid: str = ""


class TimeRange(Source):
    start: str
    end: str


class Schedule(Toast):
    days: tuple[str, ...] = ()
    time_ranges: tuple[TimeRange, ...] = ()


class SizeRule(Toast):
    """What an option costs on one size, or on all."""

    size_name: str = ""
    sequence_prices: tuple[Mapping[str, Decimal], ...] = ()

    def free_and_price(self) -> tuple[int, Decimal] | None:
        """How many cost nothing, and what each further one does; None where these differ."""
        prices = [one["price"] for one in sorted(self.sequence_prices, key=lambda one: one["sequence"])]
        free = next((i for i, price in enumerate(prices) if price), 0)
        return (free, prices[free]) if len({*prices[free:]}) == 1 else None


class Priced(Toast):
    price: Decimal | None = None
    pricing_strategy: str = ""
    size_group: str = at("pricingRules", "sizeSpecificPricingGuid", default="")
    rules: tuple[SizeRule, ...] = at("pricingRules", "sizeSequencePricingRules", default=())
    modifier_group_references: tuple[int, ...] = ()

    @property
    def fixed(self) -> Decimal | None:
        return None if self.pricing_strategy == "TIME_SPECIFIC_PRICE" else self.price


class ModifierOption(Priced):
    reference_id: int
    is_default: bool = False
    allows_duplicates: bool = False


class ModifierGroup(Priced):
    reference_id: int
    default_options_charge_price: str = "YES"
    default_options_substitution_pricing: str = "NO"
    min_selections: int = 0
    max_selections: int | None = None
    required_mode: str = ""
    modifier_option_references: tuple[int, ...] = ()

    def free_and_prices(self) -> tuple[int, dict[str, Decimal]] | None:
        """How many options cost nothing, and by size what each further one does; None where these differ."""
        rules = {rule.size_name: rule.free_and_price() for rule in self.rules}
        known = {size: rule for size, rule in rules.items() if rule}
        free = {count for count, _ in known.values()} or {0}
        if len(known) < len(rules) or len(free) > 1:
            return None
        return free.pop(), {size: price for size, (_, price) in known.items()}


class MenuItem(Priced):
    description: str = ""
    image: str = ""


class MenuGroup(Toast):
    menu_groups: tuple[MenuGroup, ...] = ()
    menu_items: tuple[MenuItem, ...] = ()


class ToastMenu(Toast):
    always: bool = at("availability", "alwaysAvailable", default=True)
    schedule: tuple[Schedule, ...] = at("availability", "schedule", default=())
    menu_groups: tuple[MenuGroup, ...] = ()

    def hours(self) -> Iterator[Hours]:
        """None where it is always available; Toast's whole day is from 00:00 to 00:00."""
        for one in () if self.always else self.schedule:
            for time in one.time_ranges:
                end = "24:00" if time.start == time.end == "00:00" else time.end
                yield Hours.model_construct(
                    days=tuple(day[:3].lower() for day in one.days),  # type: ignore[misc]
                    start=time.start,
                    end=end,
                )


class Restaurant(Toast):
    restaurant_guid: str = ""
    restaurant_time_zone: str | None = None
    menus: tuple[ToastMenu, ...] = ()
    modifier_group_references: Mapping[int, ModifierGroup] = {}
    modifier_option_references: Mapping[int, ModifierOption] = {}


def read(document: object, given: Given) -> ImportedMenu:
    """Raises InvalidMenu for a document that isn't of Toast's shape."""
    toast = Restaurant.read(document)
    name = toast.menus[0].name if toast.menus else "Toast menu"
    draft = Draft(given, name=name, ref=toast.restaurant_guid or None, time_zone=toast.restaurant_time_zone)
    reader = _Reader(toast, draft)
    sold: dict[str, list[_Place]] = {}
    for m, menu in enumerate(toast.menus):
        for place in _places(f"/menus/{m}", menu, menu.menu_groups):
            sold.setdefault(place.item.guid, []).append(place)
    for places in sold.values():
        reader.add_item(places)
    draft.lack("/menus", "rates of taxes, which Toast has elsewhere: give the menu `taxes` that items name")
    draft.lack_fields(document, Restaurant, IGNORED)
    return draft.finish()


@dataclass(frozen=True, slots=True)
class _Place:
    """An item in one of the menus that it is on."""

    pointer: str
    menu: ToastMenu
    group: MenuGroup
    item: MenuItem


def _places(at: str, menu: ToastMenu, groups: tuple[MenuGroup, ...]) -> Iterator[_Place]:
    for g, group in enumerate(groups):
        below = f"{at}/menuGroups/{g}"
        yield from (
            _Place(f"{below}/menuItems/{i}", menu, group, one) for i, one in enumerate(group.menu_items)
        )
        yield from _places(below, menu, group.menu_groups)


@dataclass(slots=True)
class _Reader:
    toast: Restaurant
    draft: Draft
    groups: dict[int, OptionGroup | None] = field(default_factory=dict)

    def add_item(self, places: list[_Place]) -> None:
        """Add an item once, with the hours of all menus that it is on."""
        place, item, group = places[0].pointer, places[0].item, places[0].group
        sized = self.sizes(item)
        if (item.fixed is None and not sized) or any(one.item.price != item.price for one in places):
            return self.draft.lack(place, f"“{item.name}” is left out: its price is open, or differs")
        sizes = {self.draft.size(option.name): (of, option) for of, option in sized}
        prices = {size: self.draft.minor(option.price or 0, place) for size, (_, option) in sizes.items()}
        made = Item.model_construct(
            sku="",
            name=item.name,
            category=group.name or "other",
            description=item.description,
            image=item.image,
            price=None if prices else self.draft.minor(item.price or 0, place),
            prices=prices or None,
            option_groups=self.groups_of(item, item.name),
            hours=either(one.menu.hours() for one in places),
            ref=f"{group.guid}/{item.guid}",
            size_refs={size: f"{of.guid}/{option.guid}" for size, (of, option) in sizes.items()},
        )
        self.draft.add_item(made, place)

    def groups_of(self, part: Priced, item: str) -> tuple[str, ...]:
        """The ids of the groups of an item or an option, but for that of its sizes."""
        sizes = {group.reference_id for group, _ in self.sizes(part)}
        own = [reference for reference in part.modifier_group_references if reference not in sizes]
        return tuple(group.id for reference in own if (group := self.group(reference, item)))

    def sizes(self, part: Priced) -> list[tuple[ModifierGroup, ModifierOption]]:
        """The group that prices something by size, with each of its options."""
        groups = self.toast.modifier_group_references.values() if part.size_group else ()
        found = [group for group in groups if group.guid == part.size_group]
        return [
            (group, option) for group in found for option in self.options(group) if option.price is not None
        ]

    def options(self, group: ModifierGroup) -> list[ModifierOption]:
        known = self.toast.modifier_option_references
        return [known[reference] for reference in group.modifier_option_references if reference in known]

    def group(self, reference: int, item: str) -> OptionGroup | None:
        """A modifier group as an option group; None for one that is left out."""
        source = self.toast.modifier_group_references.get(reference)
        if source is None or reference in self.groups:
            return self.groups.get(reference)
        self.groups[reference] = None  # inside itself
        place = f"/modifierGroupReferences/{reference}"
        if (found := source.free_and_prices()) is None:
            self.draft.lack(place, f"“{source.name}” is left out: prices depend on how many came before")
            return None
        free, prices = found
        sources = self.options(source)
        if source.default_options_substitution_pricing == "YES":
            self.draft.lack(place, f"“{source.name}” sets a default that is left off against other options")
        if {option.allows_duplicates for option in sources} == {True, False}:
            self.draft.lack(place, f"which options of “{source.name}” may be had more than once")
        group = OptionGroup.model_construct(
            id="",
            name=source.name,
            min=source.min_selections or int(source.required_mode == "REQUIRED"),
            max=source.max_selections,
            max_each=None if any(option.allows_duplicates for option in sources) else 1,
            free=free,
            defaults=tuple(option.guid for option in sources if option.is_default),
            options=tuple(made for one in sources if (made := self.option(one, prices, item))),
            ref=source.guid,
        )
        charged = source.default_options_charge_price == "YES"
        self.groups[reference] = self.draft.add_group(group, place, item, charged=charged)
        return self.groups[reference]

    def option(self, source: ModifierOption, of_group: Mapping[str, Decimal], item: str) -> Option | None:
        """A modifier option; its price is its own or, by size or not, that of its group."""
        place, sized = f"/modifierOptionReferences/{source.reference_id}", self.sizes(source)
        by_size = {option.name: option.price or Decimal(0) for _, option in sized}
        prices = of_group if source.pricing_strategy == "GROUP_PRICE" and source.price is None else by_size
        if not prices and source.fixed is None:
            self.draft.lack(place, f"“{source.name}” is left out: its price is open, or differs by time")
            return None
        minor = {name: self.draft.minor(price, place) for name, price in prices.items()}
        return Option.model_construct(
            id="",
            name=source.name,
            # On items without these sizes, for which Toast has no price, the dearest.
            price=max(minor.values()) if minor else self.draft.minor(source.fixed or 0, place),
            prices={self.draft.size(name): price for name, price in minor.items() if name},
            option_groups=self.groups_of(source, item),
            ref=source.guid,
        )
