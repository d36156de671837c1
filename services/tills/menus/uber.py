"""Uber Eats menus, as `/v2/eats/stores/{store_id}/menus` takes and returns them.

An option is an item in a modifier group, at the item's price in that group. Prices are in minor units.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from schemas.menu import Option, OptionGroup
from schemas.menus.hours import Day, Hours
from schemas.menus.parts import OptionOverride
from services.tills.menus.draft import Draft, either, new_option
from services.tills.menus.imported import ImportedMenu, Overrides
from services.tills.menus.source import Node

IGNORED = frozenset({"external_data", "display_options", "display_type", "core_price", "reason", "type"})
LAST_SECOND = 7_258_118_400  # of the year 2199; an item suspended for good may have any number


def read(document: object, overrides: Overrides) -> ImportedMenu:
    """Convert the document; raises InvalidMenu if it has another shape."""
    uber = Node(document)
    menus, items = uber.each("menus"), uber.each("items")
    name, ref = (menus[0].translated("title.translations"), menus[0].text("id")) if menus else ("", "")
    draft = Draft(uber, overrides.applied_to({"name": name or ref, "ref": ref}, "Uber Eats menu"))
    groups = {group.text("id"): group for group in uber.each("modifier_groups")}
    reader = _Reader(draft, {item.text("id"): item for item in items}, groups)
    for category in uber.each("categories"):
        reader.add_category(category, menus)
    if any(len(part.keyed("title.translations")) > 1 for part in (*items, *groups.values())):
        draft.skip("/items", "names in further languages")
    return draft.finish(IGNORED)


def _name(part: Node) -> str:
    return part.translated("title.translations") or part.text("id")


def _hours(week: Sequence[Node]) -> Iterator[Hours]:
    """Yield the days of each time range, unless it is served all week. Uber's day ends at 23:59."""
    days: dict[tuple[str, str], list[Day]] = {}
    for one in week:
        for period in one.each("time_periods"):
            start, end = period.text("start_time"), period.text("end_time").replace("23:59", "24:00")
            days.setdefault((start, end), []).append(one.text("day_of_week")[:3])  # type: ignore[arg-type]
    if len(days.get(("00:00", "24:00"), [])) < 7:
        for (start, end), on in days.items():
            yield Hours.model_construct(days=tuple(on), start=start, end=end)


def _price_in(kind: str, context: str, part: Node) -> int | None:
    """Return an item's own price in a menu, in a modifier group or under an item, or None."""
    for one in part.each("price_info.overrides"):
        if (one.text("context_type"), one.text("context_value")) == (kind, context):
            return one.integer("price")
    return None


def _until(part: Node) -> datetime | None:
    second = part.integer("suspension_info.suspension.suspend_until")
    return datetime.fromtimestamp(min(second, LAST_SECOND), UTC) if second else None


@dataclass(slots=True)
class _Reader:
    draft: Draft
    items: dict[str, Node]
    sources: dict[str, Node]

    def add_category(self, category: Node, menus: Sequence[Node]) -> None:
        """Add the items of a category, except those of an earlier one."""
        on = [menu for menu in menus if category.text("id") in menu.texts("category_ids")]
        served = either(_hours(menu.each("service_availability")) for menu in on)
        for entity in category.each("entities"):
            added = {item.ref for item in self.draft.items}
            if (item_id := entity.text("id", must=True)) in self.items and item_id not in added:
                self.add_item(item_id, category.translated("title.translations"), served)

    def add_item(self, item_id: str, category: str, served: tuple[Hours, ...]) -> None:
        item, price = self.items[item_id], self.items[item_id].integer("price_info.price") or 0
        in_menus = [one for one in item.each("price_info.overrides") if one.text("context_type") == "MENU"]
        if any(one.integer("price") != price for one in in_menus):
            return self.draft.skip(item.place, f"“{_name(item)}” is left out: its price differs by menu")
        own = either(_hours(one.each("hours_of_week")) for one in item.each("visibility_info.hours"))
        if own and served:
            self.draft.skip(item.place, f"“{_name(item)}” keeps its own hours, not those of its menu")
        labels = item.texts("dish_info.classifications.dietary_label_info.labels")
        groups = self.groups(item, _name(item))
        self.draft.add_item(
            item.place,
            name=_name(item),
            ref=item_id,
            category=category,
            description=item.translated("description.translations"),
            image=item.text("image_url"),
            allergens=item.texts("nutritional_info.allergens"),
            diet=tuple(label.lower().replace("_", " ") for label in labels),
            tax=self.tax(item),
            price=price,
            hours=own or served,
            sold_out_until=_until(item),
            option_groups=tuple(group.id for group in groups),
            option_overrides=tuple(self.overrides(item_id, groups)),
        )

    def tax(self, item: Node) -> str | None:
        """Return the id of an item's tax: sales tax is added, VAT is included."""
        for field, included in (("tax_rate", False), ("vat_rate_percentage", True)):
            if rate := item.amount(f"tax_info.{field}"):
                return self.draft.tax(f"{rate.normalize():f}", included=included)
        return None

    def groups(self, part: Node, item: str) -> tuple[OptionGroup, ...]:
        keys = [key for key in part.texts("modifier_group_ids.ids") if key in self.sources]
        return self.draft.groups_of(keys, lambda key: self.group(self.sources[key], item))

    def group(self, source: Node, item: str) -> OptionGroup:
        ids = [one.text("id", must=True) for one in source.each("modifier_options")]
        counts = {i: self.quantity(self.items[i], source) for i in ids if i in self.items}
        for option_id, quantity in list(counts.items()):
            if quantity.integer("charge_above"):
                option = self.items[option_id]
                why = f"“{_name(option)}” is left out as an option: the first ones are free"
                self.draft.skip(option.place, why)
                del counts[option_id]
        each = {quantity.integer("max_permitted") for quantity in counts.values()}
        if len(each) > 1:
            self.draft.skip(source.place, f"how often each option of “{_name(source)}” may be had")
        own = source.at("quantity_info.quantity")
        return self.draft.add_group(
            source.place,
            name=_name(source),
            ref=source.text("id"),
            min=own.integer("min_permitted") or 0,
            max=own.integer("max_permitted"),
            max_each=each.pop() if len(each) == 1 else None,
            free=own.integer("charge_above"),
            options=[self.option(self.items[i], source.text("id"), item) for i in counts],
            defaults=[i for i, quantity in counts.items() if quantity.integer("default_quantity")],
            item=item,
        )

    def quantity(self, option: Node, group: Node) -> Node:
        """Return the limits of an option in a group."""
        for one in option.each("quantity_info.overrides"):
            if one.text("context_value") == group.text("id"):
                return one.at("quantity")
        return option.at("quantity_info.quantity")

    def option(self, source: Node, group_id: str, item: str) -> Option:
        price = _price_in("MODIFIER_GROUP", group_id, source)
        return new_option(
            name=_name(source),
            ref=source.text("id"),
            price=source.integer("price_info.price") or 0 if price is None else price,
            option_groups=tuple(group.id for group in self.groups(source, item)),
            sold_out_until=_until(source),
        )

    def overrides(self, item_id: str, groups: Sequence[OptionGroup]) -> Iterator[OptionOverride]:
        """Yield the prices that options have under this item only."""
        for group in groups:
            for option in group.options:
                price = _price_in("ITEM", item_id, self.items[option.ref or ""])
                if price is not None:
                    yield OptionOverride.model_construct(group=group.id, option=option.id, price=price)
