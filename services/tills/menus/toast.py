"""Toast menus: the response of `/menus/v2/menus`, which refers to modifier groups and options by number.

Toast identifies an item by its menu group and its own id, so a `ref` has both, `GROUP/ITEM`; so has that of a
size, which is an option in a group of sizes. The menu file has no prices that depend on the hour, or on how
many options came before: what has them is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from services.tills.menus.draft import LACKING, Draft, Hours, Offer, Part, either
from services.tills.menus.source import ImportedMenu, Node, Overrides

_OPTIONS = "modifierOptionReferences"
_Place = tuple[Node, Node, Node]
"""A menu, one of its groups, and an item in it."""
_Prices = dict[str, tuple[Decimal, str]]  # and their places, by size
IGNORED = frozenset(
    """lastUpdated multiLocationId masterId posName posButtonColorLight posButtonColorDark kitchenName plu sku
    isDeferred isDiscountable salesCategory prepTime prepStations guestCount sortOrder
    eligiblePaymentAssistancePrograms isMultiSelect length height width dimensionUnitOfMeasure weight
    weightUnitOfMeasure sizeGuid timeSpecificPricingRules taxInfo catalogProductInfo referenceId guid
    pricingStrategy sizeSpecificPricingGuid""".split()
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
    reader = _Reader(draft, toast.keyed("modifierGroupReferences"), toast.keyed(_OPTIONS))
    sold: dict[str, list[_Place]] = {}
    for place in (place for menu in menus for place in _places(menu, menu.each("menuGroups"))):
        sold.setdefault(place[2].text("guid"), []).append(place)
    for places in sold.values():
        reader.add_item(places)
    draft.skip("/menus", "rates of taxes, which Toast has elsewhere: give items `taxes` with `per_line`")
    return draft.finish(IGNORED)


def _places(menu: Node, groups: Iterable[Node]) -> Iterator[_Place]:
    for group in groups:
        yield from ((menu, group, item) for item in group.each("menuItems"))
        yield from _places(menu, group.each("menuGroups"))


def _hours(menu: Node) -> Iterator[Hours]:
    """Yield a menu's hours, unless it is always available. Toast's whole day is 00:00 to 00:00."""
    always = menu.flag("availability.alwaysAvailable") is not False
    for one in menu.each("availability.schedule"):
        days = tuple(day[:3].lower() for day in one.texts("days"))
        for time in one.each("timeRanges"):
            start, end = time.text("start"), time.text("end")
            if not always:
                yield days, start, "24:00" if start == end == "00:00" else end


@dataclass(slots=True)
class _Reader:
    draft: Draft
    groups: Mapping[str, Node]
    options: Mapping[str, Node]

    def add_item(self, places: Sequence[_Place]) -> None:
        """Add an item once, with the hours of all menus that it is on."""
        (_, group, item), *others = places
        name, offers = item.text("name"), self.offers(item)
        if not offers or any(other.amount("price") != item.amount("price") for _, _, other in others):
            self.draft.leave_out(item.place, name, "its price is open, or differs")
        else:
            self.draft.add_item(
                item.place,
                name=name,
                ref=_ref(group, item),
                category=group.text("name"),
                description=item.text("description"),
                image=item.text("image"),
                option_groups=self.groups_of(item, name),
                hours=either(_hours(menu) for menu, _, _ in places),
                offers=offers,
            )
        for _, _, other in others:
            self.draft.leave_out(other.place, name, f"it is the same as in {group.text('name')}")

    def offers(self, part: Node) -> list[Offer]:
        """Return an item's or option's sizes, or its only price; empty if that is open or varies by hour."""
        sizes = [
            (option.text("name"), self.draft.minor(price, option.place), _ref(group, option))
            for group in self.groups.values()
            if self.is_sizes(group, part)
            for option in _listed(group, _OPTIONS, self.options)
            if (price := option.amount("price")) is not None
        ]
        price = None if part.text("pricingStrategy") == "TIME_SPECIFIC_PRICE" else part.amount("price")
        return sizes or ([("", self.draft.minor(price, part.place), "")] if price is not None else [])

    def is_sizes(self, group: Node, part: Node) -> bool:
        guid = part.text("pricingRules.sizeSpecificPricingGuid")
        return guid != "" and group.text("guid") == guid

    def groups_of(self, part: Node, item: str) -> tuple[str, ...]:
        """Return the group ids of an item or option, without that of its sizes."""
        groups = _listed(part, "modifierGroupReferences", self.groups)
        keys = {group.place: group for group in groups if not self.is_sizes(group, part)}
        return self.draft.groups_of(keys, lambda key: self.group(keys[key], item))

    def group(self, source: Node, item: str) -> str:
        """Convert a modifier group, and return its id as `add_group` does."""
        required = source.text("requiredMode") == "REQUIRED"
        least = source.integer("minSelections") or int(required)
        name, options = source.text("name"), _listed(source, _OPTIONS, self.options)
        if (free_and_offers := self.group_offers(source)) is None:
            self.draft.leave_out(source.place, name, "prices depend on how many came before")
            return LACKING if least else ""
        free, offers = free_and_offers
        if source.text("defaultOptionsSubstitutionPricing") == "YES":
            self.draft.skip(source.place, f"“{name}” sets a default that is left off against other options")
        return self.draft.add_group(
            source.place,
            name=name,
            ref=source.text("guid"),
            min=least,
            max=source.integer("maxSelections"),
            each=[None if option.flag("allowsDuplicates") else 1 for option in options],
            free=free,
            options=list(filter(None, (self.option(one, offers, item) for one in options))),
            defaults=[option.text("guid") for option in options if option.flag("isDefault")],
            charged=source.text("defaultOptionsChargePrice") != "NO",
            item=item,
        )

    def group_offers(self, group: Node) -> tuple[int, _Prices] | None:
        """Return how many options are free, and the price of the others by size; None if that varies."""
        free, by_size = set[int](), _Prices()
        for rule in group.each("pricingRules.sizeSequencePricingRules"):
            in_turn = sorted(rule.each("sequencePrices"), key=lambda one: one.integer("sequence") or 0)
            prices = [one.amount("price") or Decimal(0) for one in in_turn]
            first = next((i for i, price in enumerate(prices) if price), 0)
            if len({*prices[first:]}) != 1:
                return None
            free.add(first)
            by_size[rule.text("sizeName")] = (prices[first], in_turn[first].place)
        return None if len(free) > 1 else (max(free, default=0), by_size)

    def option(self, source: Node, of_group: _Prices, item: str) -> Part | None:
        """Convert a modifier option, priced by itself or by its group; None if it is left out."""
        name, offers = source.text("name"), self.offers(source)
        if not offers and source.text("pricingStrategy") == "GROUP_PRICE":
            offers = [(size, self.draft.minor(*price), "") for size, price in of_group.items()]
        if not offers:
            self.draft.leave_out(source.place, name, "its price is open, or differs by time")
            return None
        if any(ref for _, _, ref in offers):
            self.draft.skip(source.place, f"the ids of the sizes of “{name}”")
        return {
            "name": name,
            "ref": source.text("guid"),
            # Toast has no price for items without these sizes: charge the highest.
            "price": max(price for _, price, _ in offers),
            "prices": {self.draft.size(size): price for size, price, _ in offers if size},
            "option_groups": self.groups_of(source, item),
        }


def _ref(group: Node, member: Node) -> str:
    return f"{group.text('guid')}/{member.text('guid')}"


def _listed(part: Node, path: str, parts: Mapping[str, Node]) -> list[Node]:
    """Return the parts that a list of numbers refers to; in JSON, numbers as keys are text."""
    return [parts[key] for one in part.each(path) if (key := str(one.amount(""))) in parts]
