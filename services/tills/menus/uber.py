"""Uber Eats menus, as uploaded to and read from `/v2/eats/stores/{store_id}/menus`.

Items and options are one kind there: an option is an item that a modifier group names, at the price that the
item has in that group. Prices are in minor units already.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal

from schemas.menu import Item, Option, OptionGroup
from schemas.menus.hours import Day, Hours
from schemas.menus.parts import OptionOverride
from services.tills.menus.imported import Draft, Given, ImportedMenu, either
from services.tills.menus.source import Source, at

IGNORED = frozenset({"external_data", "display_options", "display_type", "core_price", "reason", "type"})
LAST_SECOND = 7_258_118_400  # of the year 2199: items suspended for good have any number


class Period(Source):
    start_time: str
    end_time: str


class DayHours(Source):
    day_of_week: str
    time_periods: tuple[Period, ...] = ()


class WeekHours(Source):
    hours_of_week: tuple[DayHours, ...] = ()


class PriceOverride(Source):
    """A price in a menu, in a modifier group or under an item."""

    context_type: str
    context_value: str
    price: int


class Quantity(Source):
    min_permitted: int = 0
    max_permitted: int | None = None
    default_quantity: int = 0
    charge_above: int = 0


class QuantityOverride(Source):
    context_type: str
    context_value: str
    quantity: Quantity = Quantity()


class Named(Source):
    id: str = ""
    titles: Mapping[str, str] = at("title", "translations", default={})
    quantity: Quantity = at("quantity_info", "quantity", default=Quantity())

    @property
    def title(self) -> str:
        return next(iter(self.titles.values()), self.id)


class UberItem(Named):
    descriptions: Mapping[str, str] = at("description", "translations", default={})
    image_url: str = ""
    price: int = at("price_info", "price", default=0)
    prices: tuple[PriceOverride, ...] = at("price_info", "overrides", default=())
    quantities: tuple[QuantityOverride, ...] = at("quantity_info", "overrides", default=())
    tax_rate: Decimal | None = at("tax_info", "tax_rate", default=None)
    vat_rate: Decimal | None = at("tax_info", "vat_rate_percentage", default=None)
    suspend_until: int = at("suspension_info", "suspension", "suspend_until", default=0)
    groups: tuple[str, ...] = at("modifier_group_ids", "ids", default=())
    visible: tuple[WeekHours, ...] = at("visibility_info", "hours", default=())
    diets: tuple[str, ...] = at("dish_info", "classifications", "dietary_label_info", "labels", default=())
    allergens: tuple[str, ...] = at("nutritional_info", "allergens", default=())

    @property
    def until(self) -> datetime | None:
        return (
            datetime.fromtimestamp(min(self.suspend_until, LAST_SECOND), UTC) if self.suspend_until else None
        )

    def price_in(self, kind: str, context: str) -> int | None:
        fitting = (
            one.price for one in self.prices if (one.context_type, one.context_value) == (kind, context)
        )
        return next(fitting, None)


class Entity(Source):
    id: str


class ModifierGroup(Named):
    modifier_options: tuple[Entity, ...] = ()


class Category(Named):
    entities: tuple[Entity, ...] = ()


class UberMenu(Named):
    category_ids: tuple[str, ...] = ()
    service_availability: tuple[DayHours, ...] = ()


class Upload(Source):
    menus: tuple[UberMenu, ...] = ()
    categories: tuple[Category, ...] = ()
    items: tuple[UberItem, ...] = ()
    modifier_groups: tuple[ModifierGroup, ...] = ()


def read(document: object, given: Given) -> ImportedMenu:
    """Raises InvalidMenu for a document that isn't of Uber's shape."""
    uber = Upload.read(document)
    first = next(iter(uber.menus), UberMenu())
    draft = Draft(given, name=first.title or "Uber Eats menu", ref=first.id or None)
    items = {item.id: (f"/items/{i}", item) for i, item in enumerate(uber.items)}
    groups = {group.id: (f"/modifier_groups/{g}", group) for g, group in enumerate(uber.modifier_groups)}
    reader = _Reader(draft, items, groups)
    for category in uber.categories:
        weeks = [menu.service_availability for menu in uber.menus if category.id in menu.category_ids]
        reader.add_category(category, either(_hours(week) for week in weeks))
    if any(len(part.titles) > 1 for part in (*uber.items, *uber.modifier_groups)):
        draft.lack("/items", "names in further languages")
    draft.lack_fields(document, Upload, IGNORED)
    return draft.finish()


def _hours(week: Sequence[DayHours]) -> Iterator[Hours]:
    """Days with the same times together; none where it is served all week. Uber's day ends at 23:59."""
    days: dict[tuple[str, str], list[Day]] = {}
    for one in week:
        for period in one.time_periods:
            end = "24:00" if period.end_time == "23:59" else period.end_time
            days.setdefault((period.start_time, end), []).append(one.day_of_week[:3])  # type: ignore[arg-type]
    if len(days.get(("00:00", "24:00"), [])) < 7:
        for (start, end), on in days.items():
            yield Hours.model_construct(days=tuple(on), start=start, end=end)


@dataclass(slots=True)
class _Reader:
    draft: Draft
    items: dict[str, tuple[str, UberItem]]
    sources: dict[str, tuple[str, ModifierGroup]]
    groups: dict[str, OptionGroup | None] = field(default_factory=dict)

    def add_category(self, category: Category, served: tuple[Hours, ...]) -> None:
        """Add the items of a category that are in none before it."""
        for entity in category.entities:
            known = {item.ref for item in self.draft.items}
            if entity.id in self.items and entity.id not in known:
                self.add_item(*self.items[entity.id], category.title, served)

    def add_item(self, place: str, item: UberItem, category: str, served: tuple[Hours, ...]) -> None:
        if any(one.context_type == "MENU" and one.price != item.price for one in item.prices):
            return self.draft.lack(place, f"“{item.title}” is left out: its price differs by menu")
        groups = [group for i in item.groups if (group := self.group(i, item.title))]
        own = either(_hours(one.hours_of_week) for one in item.visible)
        if own and served:
            self.draft.lack(place, f"“{item.title}” keeps its own hours, not those of its menu")
        made = Item.model_construct(
            sku="",
            name=item.title,
            category=category or "other",
            description=next(iter(item.descriptions.values()), None),
            image=item.image_url,
            allergens=item.allergens,
            diet=tuple(label.lower().replace("_", " ") for label in item.diets),
            tax=self.tax(item),
            price=item.price,
            option_groups=tuple(group.id for group in groups),
            option_overrides=tuple(o for group in groups for o in self.overrides(item.id, group)),
            hours=own or served,
            sold_out_until=item.until,
            ref=item.id,
        )
        self.draft.add_item(made, place)

    def tax(self, item: UberItem) -> str | None:
        """Sales tax is added, VAT included; a rate of 0 is none."""
        for rate, included in ((item.tax_rate, False), (item.vat_rate, True)):
            if rate:
                return self.draft.tax(f"{rate.normalize():f}", included=included)
        return None

    def group(self, group_id: str, item: str) -> OptionGroup | None:
        """A modifier group as an option group; None where the file lacks it."""
        if group_id in self.groups or group_id not in self.sources:
            return self.groups.get(group_id)
        self.groups[group_id] = None  # inside itself
        place, source = self.sources[group_id]
        options, counts = self.options(source, item)
        each = {quantity.max_permitted for quantity in counts.values()}
        if len(each) > 1:
            self.draft.lack(place, f"how often each option of “{source.title}” may be had")
        group = OptionGroup.model_construct(
            id="",
            name=source.title,
            min=source.quantity.min_permitted,
            max=source.quantity.max_permitted,
            max_each=each.pop() if len(each) == 1 else None,
            free=source.quantity.charge_above,
            defaults=tuple(i for i, quantity in counts.items() if quantity.default_quantity),
            options=tuple(options),
            ref=source.id,
        )
        self.groups[group_id] = self.draft.add_group(group, place, item, charged=True)
        return self.groups[group_id]

    def options(self, source: ModifierGroup, item: str) -> tuple[list[Option], dict[str, Quantity]]:
        """The options of a group, and by their ids how often each may be had."""
        options = []
        counts = {}
        for place, option in (self.items[one.id] for one in source.modifier_options if one.id in self.items):
            here = (one.quantity for one in option.quantities if one.context_value == source.id)
            quantity = next(here, option.quantity)
            if quantity.charge_above:
                self.draft.lack(place, f"“{option.title}” is left out as an option: the first ones are free")
                continue
            options.append(self.option(option, source.id, item))
            counts[option.id] = quantity
        return options, counts

    def option(self, source: UberItem, group_id: str, item: str) -> Option:
        price = source.price_in("MODIFIER_GROUP", group_id)
        return Option.model_construct(
            id="",
            name=source.title,
            price=source.price if price is None else price,
            option_groups=tuple(group.id for i in source.groups if (group := self.group(i, item))),
            sold_out_until=source.until,
            ref=source.id,
        )

    def overrides(self, item_id: str, group: OptionGroup) -> Iterator[OptionOverride]:
        """Prices that options have under this item only."""
        for option in group.options:
            price = self.items[option.ref or ""][1].price_in("ITEM", item_id)
            if price is not None:
                yield OptionOverride.model_construct(group=group.id, option=option.id, price=price)
