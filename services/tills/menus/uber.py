"""Uber Eats menus, as `/v2/eats/stores/{store_id}/menus` takes and returns them.

An option is an item in a modifier group, at the item's price in that group. Prices are in minor units.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from services.tills.menus.draft import Draft, Hours, Part, either
from services.tills.menus.source import ImportedMenu, Node, Overrides

IGNORED = frozenset(
    "external_data display_options display_type core_price reason type id context_type".split()
)
LAST_SECOND = 7_258_118_400  # of the year 2199; an item suspended for good may have any number


def read(document: object, overrides: Overrides) -> ImportedMenu:
    """Convert the document; raises InvalidMenu if it has another shape."""
    uber = Node(document)
    menus = uber.each("menus")
    name, ref = (menus[0].translated("title.translations"), menus[0].text("id")) if menus else ("", "")
    draft = Draft(uber, overrides.applied_to({"name": name or ref, "ref": ref}, "Uber Eats menu"))
    reader = _Reader(draft, uber.by_id("items"), uber.by_id("modifier_groups"))
    for category in uber.each("categories"):
        reader.add_category(category, menus)
    return draft.finish(IGNORED)


def _name(part: Node) -> str:
    return part.translated("title.translations") or part.text("id")


def _hours(week: Sequence[Node]) -> Iterator[Hours]:
    """Yield the days of each time range, unless it is served all week. Uber's day ends at 23:59."""
    days: dict[tuple[str, str], list[str]] = {}
    for one in week:
        for period in one.each("time_periods"):
            start, end = period.text("start_time"), period.text("end_time").replace("23:59", "24:00")
            days.setdefault((start, end), []).append(one.text("day_of_week")[:3])
    if len(days.get(("00:00", "24:00"), [])) < 7:
        yield from ((tuple(on), start, end) for (start, end), on in days.items())


def _prices(part: Node, kind: str) -> dict[str, int]:
    """Return an item's own prices in menus, in modifier groups or under items, by their ids."""
    own = [one for one in part.each("price_info.overrides") if one.text("context_type") == kind]
    return {one.text("context_value"): price for one in own if (price := one.integer("price")) is not None}


def _until(part: Node) -> str | None:
    second = part.integer("suspension_info.suspension.suspend_until")
    return datetime.fromtimestamp(min(second, LAST_SECOND), UTC).isoformat() if second else None


@dataclass(slots=True)
class _Reader:
    draft: Draft
    items: dict[str, Node]
    sources: dict[str, Node]

    def add_category(self, category: Node, menus: Sequence[Node]) -> None:
        """Add the items of a category, except those of an earlier one."""
        on = [menu for menu in menus if category.text("id") in menu.texts("category_ids")]
        served = either(_hours(menu.each("service_availability")) for menu in on)
        name = category.translated("title.translations")
        for entity in category.each("entities"):
            item = self.items.get(entity.text("id", must=True))
            if item is None:
                continue
            if any(added.get("ref") == item.text("id") for added in self.draft.items):
                self.draft.skip(entity.place, f"“{_name(item)}” is in one category only")
            else:
                self.add_item(item, name, served)

    def add_item(self, item: Node, category: str, served: list[Part]) -> None:
        price = item.integer("price_info.price") or 0
        if set(_prices(item, "MENU").values()) - {price}:
            return self.draft.leave_out(item.place, _name(item), "its price differs by menu")
        own = either(_hours(one.each("hours_of_week")) for one in item.each("visibility_info.hours"))
        if own and served:
            self.draft.skip(item.place, f"“{_name(item)}” keeps its own hours, not those of its menu")
        labels = item.texts("dish_info.classifications.dietary_label_info.labels")
        self.draft.add_item(
            item.place,
            name=_name(item),
            ref=item.text("id"),
            category=category,
            description=item.translated("description.translations"),
            image=item.text("image_url"),
            allergens=item.texts("nutritional_info.allergens"),
            diet=tuple(label.lower().replace("_", " ") for label in labels),
            tax=self.tax(item),
            price=price,
            hours=own or served,
            sold_out_until=_until(item),
            option_groups=self.groups(item, _name(item)),
            option_overrides=tuple(self.overrides(item)),
        )

    def tax(self, item: Node) -> str | None:
        """Return the id of an item's tax: sales tax is added, VAT is included."""
        for field, included in (("tax_rate", False), ("vat_rate_percentage", True)):
            if rate := item.amount(f"tax_info.{field}"):
                return self.draft.tax(f"{rate.normalize():f}", included=included)
        return None

    def groups(self, part: Node, item: str) -> tuple[str, ...]:
        keys = [key for key in part.texts("modifier_group_ids.ids") if key in self.sources]
        return self.draft.groups_of(keys, lambda key: self.group(self.sources[key], item))

    def group(self, source: Node, item: str) -> str:
        ref, quantity = source.text("id"), source.at("quantity_info.quantity")
        ids = [one.text("id", must=True) for one in source.each("modifier_options")]
        limits = {i: self.limits(self.items[i], ref) for i in ids if i in self.items}
        options = {i: self.option(self.items[i], ref, item) for i in limits}
        for i, option in list(options.items()):
            if limits[i].integer("charge_above") or [*self.overrides(self.items[i])]:
                self.draft.skip(self.items[i].place, f"“{option['name']}”, an option priced by count or item")
                del options[i]
        return self.draft.add_group(
            source.place,
            name=_name(source),
            ref=ref,
            min=quantity.integer("min_permitted") or 0,
            max=quantity.integer("max_permitted"),
            each=[limits[i].integer("max_permitted") for i in options],
            free=quantity.integer("charge_above"),
            options=options.values(),
            defaults=[i for i in options if limits[i].integer("default_quantity")],
            item=item,
        )

    def overrides(self, item: Node) -> Iterator[Part]:
        """Yield the prices that options have under this item only."""
        for group_id in self.groups(item, _name(item)):
            for option in self.draft.groups.get(group_id, {}).get("options", ()):
                price = _prices(self.items[option.get("ref", "")], "ITEM").get(item.text("id"))
                if price not in (None, option["price"]):
                    yield {"group": group_id, "option": option["id"], "price": price}

    def limits(self, option: Node, group_id: str) -> Node:
        """Return how often an option may be had in a group."""
        for one in option.each("quantity_info.overrides"):
            if one.text("context_value") == group_id:
                return one.at("quantity")
        return option.at("quantity_info.quantity")

    def option(self, source: Node, group_id: str, item: str) -> Part:
        price = source.integer("price_info.price") or 0
        return {
            "name": _name(source),
            "ref": source.text("id"),
            "price": _prices(source, "MODIFIER_GROUP").get(group_id, price),
            "option_groups": self.groups(source, item),
            "sold_out_until": _until(source),
        }
