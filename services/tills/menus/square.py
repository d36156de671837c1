"""Square catalogs: the answer of ListCatalog, SearchCatalogObjects or BatchRetrieveCatalogObjects.

A variation is a size, and its id the `size_ref`; an item with one variation has its id as `ref`, since orders
name variations. Square charges for modifiers that are on by default, so those with a price are no defaults.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from schemas.menu import Option, OptionGroup, spoken_key
from services.tills.menus.imported import Draft, Given, ImportedMenu, new_option
from services.tills.menus.source import Node

# Square's own bookkeeping, and how things look on its screens.
IGNORED = frozenset(
    """updated_at created_at version present_at_all_locations catalog_v1_ids id_mappings cursor
    label_color abbreviation description_html description_plaintext ordinal
    available_online available_for_pickup available_electronically product_type skip_modifier_screen item_id
    modifier_list_id channels ecom_visibility category_type is_top_level sellable stockable
    applies_to_custom_amounts track_inventory pricing_type buyer_facing""".split()
)
_TOGGLES = {"YES": True, "NO": False}


class _Had(NamedTuple):
    """A modifier list as an item has it: how many may be chosen, 0 for any number, and what is by default."""

    list_id: str
    least: int
    most: int
    once: bool
    defaults: tuple[str, ...]


def read(document: object, given: Given) -> ImportedMenu:
    """Raises InvalidMenu for a document that isn't of Square's shape."""
    catalog = Node(document)
    parts = [*catalog.each("objects"), *catalog.each("related_objects")]
    known = {part.text("id", must=True): part for part in parts if not part.flag("is_deleted")}
    currencies = (
        variation.text("item_variation_data.price_money.currency")
        for part in known.values()
        for variation in _data(part).each("variations")
    )
    currency = next(filter(None, currencies), "")
    reader = _Reader(known, Draft(catalog, given.over({"currency": currency}, "Square menu")))
    for part in known.values():
        if part.text("type") == "ITEM":
            reader.add_item(part)
    return reader.draft.finish(IGNORED)


def _data(part: Node) -> Node:
    return part.at(f"{part.text('type').lower()}_data")


def _name(part: Node) -> str:
    return _data(part).text("name")


def _price(part: Node, otherwise: int | None = None) -> int | None:
    """The price at every location, and `otherwise` where there is none; None where they differ."""
    overrides = _data(part).each("location_overrides")
    if any(one.whole("price_money.amount") is not None for one in overrides):
        return None
    price = _data(part).whole("price_money.amount")
    return otherwise if price is None else price


def _offers(data: Node) -> list[tuple[str, int, str]]:
    """Name, price and id of an item's variations; none if it can't be sold at prices that are known."""
    sold = [one for one in data.each("variations") if not one.flag("is_deleted")]
    found = [(_name(one), price, one.text("id")) for one in sold if (price := _price(one)) is not None]
    fit = not data.flag("is_archived") and len(found) == len(sold) == len({spoken_key(n) for n, *_ in found})
    return found if fit else []


def _had(source: Node, info: Node) -> _Had:
    """A modifier list as `info` has it; -1 leaves a count to the list."""

    def count(name: str) -> int | None:
        counts = [info.whole(name), _data(source).whole(name)]
        return next((number for number in counts if number is not None and number >= 0), None)

    most = count("max_selected_modifiers")
    if most is None:
        most = 1 if _data(source).text("selection_type") == "SINGLE" else 0
    often = _TOGGLES.get(info.text("allow_quantities"), _data(source).flag("allow_quantities"))
    on = {one.text("id"): _data(one).flag("on_by_default") for one in _data(source).each("modifiers")}
    for one in info.each("modifier_overrides"):
        if (here := _TOGGLES.get(one.text("on_by_default_override"), one.flag("on_by_default"))) is not None:
            on[one.text("modifier_id")] = here
    defaults = tuple(ref for ref, default in on.items() if default)
    return _Had(source.text("id"), count("min_selected_modifiers") or 0, most, often is False, defaults)


def _foods(details: Iterable[Node]) -> tuple[str, ...]:
    """Diets or ingredients by their names."""
    return tuple(
        one.text("custom_name") or one.text("standard_name").lower().replace("_", " ") for one in details
    )


@dataclass(slots=True)
class _Reader:
    parts: dict[str, Node]
    draft: Draft

    def known(self, ids: Iterable[str]) -> list[Node]:
        return [self.parts[ref] for ref in dict.fromkeys(ids) if ref in self.parts]

    def add_item(self, item: Node) -> None:
        data, name, lack = _data(item), _name(item), self.draft.lack
        offers = _offers(data)
        if not offers:
            why = "it is archived, has no price that is fixed everywhere, or two variations of one name"
            return lack(item.place, f"“{name}” is left out: {why}")
        ref = item.text("id")
        if len(offers) == 1:
            only, price, ref = offers[0]
            offers = [("", price, ref)]
            if spoken_key(only) not in ("regular", "", spoken_key(name)):
                lack(item.place, f"“{only}”, the name of the only variation of “{name}”")
        infos = [info for info in data.each("modifier_list_info") if info.flag("enabled") is not False]
        lists = {info.text("modifier_list_id", must=True): info for info in infos}
        self.draft.add_item(
            item.place,
            name=name,
            ref=ref,
            category=self.category(item),
            description=data.text("description"),
            image=next((_data(image).text("url") for image in self.known(data.texts("image_ids"))), ""),
            allergens=_foods(data.each("food_and_beverage_details.ingredients")),
            diet=_foods(data.each("food_and_beverage_details.dietary_preferences")),
            tax=self.tax(item),
            option_groups=self.groups(lists, item),
            **self.draft.priced(offers),
        )

    def category(self, item: Node) -> str:
        data = _data(item)
        ids = [data.text("reporting_category.id"), *(one.text("id") for one in data.each("categories"))]
        names = [_name(category) for category in self.known([*ids, data.text("category_id")])]
        if len(names) > 1:
            self.draft.lack(item.place, f"“{_name(item)}” is in one category only, {names[0]}")
        return names[0] if names else ""

    def tax(self, item: Node) -> str | None:
        taxes = [(_data(tax), tax.text("id")) for tax in self.known(_data(item).texts("tax_ids"))]
        taxed = _data(item).flag("is_taxable") is not False
        taxes = [(tax, ref) for tax, ref in taxes if taxed and tax.flag("enabled") is not False]
        phases = {tax.text("calculation_phase") for tax, _ in taxes}
        if len(taxes) > 1 or not phases <= {"", "TAX_SUBTOTAL_PHASE"}:
            self.draft.lack(item.place, f"“{_name(item)}” has its first tax only, on the price alone")
        for tax, ref in taxes:
            included = tax.text("inclusion_type") == "INCLUSIVE"
            named = {"name": tax.text("name"), "ref": ref, "rounding": "half_even"}
            return self.draft.tax(tax.text("percentage"), included=included, **named)
        return None

    def groups(self, lists: Mapping[str, Node], item: Node) -> tuple[str, ...]:
        """The ids of the groups of modifier lists as the item has them; a text or an unknown list is none."""
        had = []
        for list_id, info in lists.items():
            if list_id in self.parts and _data(self.parts[list_id]).text("modifier_type") != "TEXT":
                had.append(_had(self.parts[list_id], info))
            else:
                place = self.parts[list_id].place if list_id in self.parts else "/objects"
                self.draft.lack(place, f"“{_name(item)}” takes a text, or options that the file doesn't have")
        return tuple(group.id for group in self.draft.groups_of(had, lambda one: self.group(one, item)))

    def group(self, had: _Had, item: Node) -> OptionGroup:
        source = self.parts[had.list_id]
        return self.draft.add_group(
            source.place,
            name=_name(source),
            ref=had.list_id,
            min=had.least,
            max=had.most or None,
            max_each=1 if had.once else None,
            options=list(self.options(source, item)),
            defaults=had.defaults,
            item=_name(item),
        )

    def options(self, source: Node, item: Node) -> Iterator[Option]:
        for one in _data(source).each("modifiers"):
            name, price = _name(one), _price(one, otherwise=0)
            if one.flag("is_deleted"):
                continue
            if price is None:
                self.draft.lack(source.place, f"“{name}” is left out: its price differs by location")
            else:
                as_it_is = dict.fromkeys(_data(one).texts("child_modifier_list_ids"), Node({}))
                groups = self.groups(as_it_is, item)
                yield new_option(name=name, ref=one.text("id"), price=price, option_groups=groups)
