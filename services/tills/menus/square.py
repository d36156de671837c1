"""Square catalogs: the answer of ListCatalog, SearchCatalogObjects or BatchRetrieveCatalogObjects.

A variation is a size, and its id the `size_ref`; an item with one variation has its id as `ref`, since orders
name variations. Square charges for modifiers that are on by default, so those with a price are no defaults.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from schemas.menu import Option, OptionGroup, spoken_key
from schemas.menus.parts import OptionOverride
from services.tills.menus.imported import Draft, Given, ImportedMenu, new_option
from services.tills.menus.source import Node

# Square's own bookkeeping, and how things look on its screens.
IGNORED = frozenset(
    """updated_at created_at version present_at_all_locations present_at_location_ids absent_at_location_ids
    catalog_v1_ids id_mappings cursor label_color abbreviation description_html description_plaintext ordinal
    available_online available_for_pickup available_electronically product_type skip_modifier_screen item_id
    modifier_list_id is_taxable channels ecom_visibility category_type is_top_level sellable stockable
    applies_to_custom_amounts track_inventory pricing_type buyer_facing""".split()
)
_TOGGLES = {"YES": True, "NO": False}
_PLAIN = Node({})
"""Of a modifier list that is had as it is."""


class _Had(NamedTuple):
    """A modifier list as an item has it: how many may be chosen, 0 for any number."""

    list_id: str
    least: int
    most: int
    once: bool


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


def _sold(data: Node) -> tuple[list[Node], list[int]]:
    """The variations of an item and their prices; none if it can't be sold at prices that are known."""
    sold = [one for one in data.each("variations") if not one.flag("is_deleted")]
    prices = [price for one in sold if (price := _price(one)) is not None]
    unlike = {spoken_key(_name(one)) for one in sold}
    fit = not data.flag("is_archived") and len(prices) == len(sold) == len(unlike)
    return (sold, prices) if fit else ([], [])


def _had(source: Node, info: Node) -> _Had:
    """A modifier list as `info` has it; -1 leaves a count to the list."""

    def count(name: str) -> int | None:
        counts = [info.whole(name), _data(source).whole(name)]
        return next((number for number in counts if number is not None and number >= 0), None)

    most = count("max_selected_modifiers")
    if most is None:
        most = 1 if _data(source).text("selection_type") == "SINGLE" else 0
    often = _TOGGLES.get(info.text("allow_quantities"), _data(source).flag("allow_quantities"))
    return _Had(source.text("id"), count("min_selected_modifiers") or 0, most, often is False)


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
        sold, prices = _sold(data)
        if not sold:
            why = "it is archived, has no price that is fixed everywhere, or two variations of one name"
            return lack(item.place, f"“{name}” is left out: {why}")
        if len(sold) == 1 and spoken_key(_name(sold[0])) not in ("regular", "", spoken_key(name)):
            lack(item.place, f"“{_name(sold[0])}”, the name of the only variation of “{name}”")
        names = [_name(one) for one in sold] if len(sold) > 1 else [""]
        refs = [one.text("id") for one in sold]
        groups, overrides = self.groups_of(item)
        self.draft.add_item(
            item.place,
            name=name,
            ref=item.text("id") if len(sold) > 1 else refs[0],
            category=self.category(item),
            description=data.text("description"),
            image=next((_data(image).text("url") for image in self.known(data.texts("image_ids"))), ""),
            allergens=_foods(data.each("food_and_beverage_details.ingredients")),
            diet=_foods(data.each("food_and_beverage_details.dietary_preferences")),
            tax=self.tax(item),
            option_groups=tuple(dict.fromkeys(groups)),
            option_overrides=tuple(overrides),
            **self.draft.priced(list(zip(names, prices, refs, strict=True))),
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
        taxes = [(tax, ref) for tax, ref in taxes if tax.flag("enabled") is not False]
        phases = {tax.text("calculation_phase") for tax, _ in taxes}
        if len(taxes) > 1 or not phases <= {"", "TAX_SUBTOTAL_PHASE"}:
            self.draft.lack(item.place, f"“{_name(item)}” has its first tax only, on the price alone")
        for tax, ref in taxes:
            included = tax.text("inclusion_type") == "INCLUSIVE"
            return self.draft.tax(tax.text("percentage"), included=included, name=tax.text("name"), ref=ref)
        return None

    def groups_of(self, item: Node) -> tuple[list[str], list[OptionOverride]]:
        """The ids of an item's groups, and what is by default on this item only."""
        groups: list[str] = []
        overrides: list[OptionOverride] = []
        for info in _data(item).each("modifier_list_info"):
            if info.flag("enabled") is not False:
                for group in self.groups([info.text("modifier_list_id", must=True)], item, info):
                    groups.append(group.id)
                    overrides += self.overrides(info, group, item.place)
        return groups, overrides

    def groups(self, lists: Iterable[str], item: Node, info: Node = _PLAIN) -> tuple[OptionGroup, ...]:
        """The groups of modifier lists as the item has them; a text or an unknown list is none."""
        had = []
        for list_id in lists:
            if list_id in self.parts and _data(self.parts[list_id]).text("modifier_type") != "TEXT":
                had.append(_had(self.parts[list_id], info))
            else:
                place = self.parts[list_id].place if list_id in self.parts else "/objects"
                self.draft.lack(place, f"“{_name(item)}” takes a text, or options that the file doesn't have")
        return self.draft.groups_of(had, lambda one: self.group(one, item))

    def group(self, had: _Had, item: Node) -> OptionGroup:
        source = self.parts[had.list_id]
        modifiers = _data(source).each("modifiers")
        return self.draft.add_group(
            source.place,
            name=_name(source),
            ref=had.list_id,
            min=had.least,
            max=had.most or None,
            max_each=1 if had.once else None,
            options=list(self.options(modifiers, source.place, item)),
            defaults=[one.text("id") for one in modifiers if _data(one).flag("on_by_default")],
            item=_name(item),
        )

    def options(self, modifiers: Iterable[Node], place: str, item: Node) -> Iterator[Option]:
        for one in modifiers:
            name, price = _name(one), _price(one, otherwise=0)
            if one.flag("is_deleted") or price is None:
                self.draft.lack(place, f"“{name}” is left out: its price differs by location")
                continue
            groups = self.groups(_data(one).texts("child_modifier_list_ids"), item)
            opened = tuple(group.id for group in groups)
            yield new_option(name=name, ref=one.text("id"), price=price, option_groups=opened)

    def overrides(self, info: Node, group: OptionGroup, place: str) -> Iterator[OptionOverride]:
        """What is on by default on one item only, or isn't."""
        options = {option.ref: option for option in group.options}
        for one in info.each("modifier_overrides"):
            option = options.get(one.text("modifier_id"))
            default = _TOGGLES.get(one.text("on_by_default_override"), one.flag("on_by_default"))
            if option is None or default is None or default == (option.id in group.defaults):
                continue
            if not default or self.draft.is_free(option, place):
                yield OptionOverride.model_construct(group=group.id, option=option.id, default=default)
