"""Square catalogs: the response of ListCatalog, SearchCatalogObjects or BatchRetrieveCatalogObjects.

Variations become sizes with their ids as `size_refs`; a single variation's id becomes the item's `ref`, since
orders name variations. Square charges for modifiers that are on by default, so priced ones are no defaults.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from schemas.menu import spoken_key
from services.tills.menus.draft import Draft, Offer, Part
from services.tills.menus.source import ImportedMenu, Node, Overrides

# Bookkeeping, and the looks of Square's screens.
IGNORED = frozenset(
    """updated_at created_at version present_at_all_locations catalog_v1_ids id_mappings cursor
    label_color abbreviation description_html description_plaintext ordinal
    available_online available_for_pickup available_electronically product_type skip_modifier_screen item_id
    modifier_list_id channels ecom_visibility category_type is_top_level sellable stockable
    applies_to_custom_amounts track_inventory pricing_type buyer_facing type currency""".split()
)
_TOGGLES = {"YES": True, "NO": False}


def read(document: object, overrides: Overrides) -> ImportedMenu:
    """Convert the document; raises InvalidMenu if it has another shape."""
    catalog = Node(document)
    listed = [*catalog.by_id("objects").values(), *catalog.by_id("related_objects").values()]
    parts = {part.text("id"): part for part in _kept(listed)}
    items = [part for part in parts.values() if part.text("type") == "ITEM"]
    currencies = (
        variation.text("item_variation_data.price_money.currency")
        for item in items
        for variation in _data(item).each("variations")
    )
    currency = next(filter(None, currencies), "")
    reader = _Reader(parts, Draft(catalog, overrides.applied_to({"currency": currency}, "Square menu")))
    for item in items:
        reader.add_item(item)
    return reader.draft.finish(IGNORED)


def _kept(parts: Sequence[Node]) -> list[Node]:
    """Return the parts that aren't deleted; nothing is listed of the others."""
    for part in parts:
        if part.flag("is_deleted"):
            part.left_out.add(part.place)
    return [part for part in parts if part.place not in part.left_out]


def _data(part: Node) -> Node:
    return part.at(f"{part.text('type').lower()}_data")


def _name(part: Node) -> str:
    return _data(part).text("name")


def _price(part: Node, otherwise: int | None = None) -> int | None:
    """Return the price, or `otherwise` if there is none; None if it differs by location."""
    overrides = _data(part).each("location_overrides")
    if any(one.integer("price_money.amount") is not None for one in overrides):
        return None
    price = _data(part).integer("price_money.amount")
    return otherwise if price is None else price


def _offers(data: Node) -> list[Offer]:
    """Return name, price and id of each variation; empty if some have no fixed price or share a name."""
    sold = _kept(data.each("variations"))
    offers = [(_name(one), price, one.text("id")) for one in sold if (price := _price(one)) is not None]
    names = {spoken_key(name) for name, *_ in offers}
    return offers if not data.flag("is_archived") and len(names) == len(offers) == len(sold) else []


def _limits(source: Node, info: Node) -> Part:
    """Return a modifier list's limits and defaults as an item's `info` has them; -1 is that of the list."""

    def count(name: str, otherwise: int) -> int:
        counts = [info.integer(name), _data(source).integer(name)]
        return next((number for number in counts if number is not None and number >= 0), otherwise)

    single = _data(source).text("selection_type") == "SINGLE"
    repeatable = _TOGGLES.get(info.text("allow_quantities"), _data(source).flag("allow_quantities"))
    on = {one.text("id"): _data(one).flag("on_by_default") for one in _data(source).each("modifiers")}
    for one in info.each("modifier_overrides"):
        if (here := _TOGGLES.get(one.text("on_by_default_override"), one.flag("on_by_default"))) is not None:
            on[one.text("modifier_id")] = here
    return {
        "ref": source.text("id"),
        "min": count("min_selected_modifiers", 0),
        "max": count("max_selected_modifiers", int(single)) or None,
        "max_each": 1 if repeatable is False else None,
        "defaults": tuple(ref for ref, default in on.items() if default),
    }


def _foods(details: Iterable[Node]) -> tuple[str, ...]:
    """Return the names of diets or ingredients."""
    return tuple(
        one.text("custom_name") or one.text("standard_name").lower().replace("_", " ") for one in details
    )


@dataclass(slots=True)
class _Reader:
    parts: dict[str, Node]
    draft: Draft

    def existing(self, ids: Iterable[str]) -> list[Node]:
        return [self.parts[ref] for ref in dict.fromkeys(ids) if ref in self.parts]

    def add_item(self, item: Node) -> None:
        data, name = _data(item), _name(item)
        offers = _offers(data)
        if not offers:
            why = "it is archived, has no price that is fixed everywhere, or two variations of one name"
            return self.draft.leave_out(item.place, name, why)
        ref = item.text("id")
        if len(offers) == 1:
            only, price, ref = offers[0]
            offers = [("", price, ref)]
            if spoken_key(only) not in ("regular", "", spoken_key(name)):
                self.draft.skip(item.place, f"“{only}”, the name of the only variation of “{name}”")
        infos = [info for info in data.each("modifier_list_info") if info.flag("enabled") is not False]
        lists = {info.text("modifier_list_id", must=True): info for info in infos}
        self.draft.add_item(
            item.place,
            name=name,
            ref=ref,
            category=self.category(item),
            description=data.text("description"),
            image=next((_data(image).text("url") for image in self.existing(data.texts("image_ids"))), ""),
            allergens=_foods(data.each("food_and_beverage_details.ingredients")),
            diet=_foods(data.each("food_and_beverage_details.dietary_preferences")),
            tax=self.tax(item),
            option_groups=self.groups(lists, item),
            offers=offers,
        )

    def category(self, item: Node) -> str:
        data = _data(item)
        ids = [data.text("reporting_category.id"), *(one.text("id") for one in data.each("categories"))]
        names = [_name(category) for category in self.existing([*ids, data.text("category_id")])]
        if len(names) > 1:
            self.draft.skip(item.place, f"“{_name(item)}” is in one category only, {names[0]}")
        return names[0] if names else ""

    def tax(self, item: Node) -> str | None:
        taxes = [(_data(tax), tax.text("id")) for tax in self.existing(_data(item).texts("tax_ids"))]
        taxed = _data(item).flag("is_taxable") is not False
        taxes = [(tax, ref) for tax, ref in taxes if taxed and tax.flag("enabled") is not False]
        phases = {tax.text("calculation_phase") for tax, _ in taxes}
        if len(taxes) > 1 or not phases <= {"", "TAX_SUBTOTAL_PHASE"}:
            self.draft.skip(item.place, f"“{_name(item)}” has its first tax only, on the price alone")
        for tax, ref in taxes:
            included = tax.text("inclusion_type") == "INCLUSIVE"
            named = {"name": tax.text("name"), "ref": ref, "rounding": "half_even"}
            return self.draft.tax(tax.text("percentage"), included=included, **named)
        return None

    def groups(self, lists: Mapping[str, Node], item: Node) -> tuple[str, ...]:
        """Return the group ids of an item's modifier lists, skipping free text and unknown lists."""
        sources = {ref: self.parts[ref] for ref in lists if ref in self.parts}
        if len(sources) < len(lists):
            self.draft.skip(item.place, f"“{_name(item)}” has options that the file doesn't have")
        uses = []
        for list_id, source in sources.items():
            if _data(source).text("modifier_type") == "TEXT":
                self.draft.leave_out(source.place, _name(source), "it takes a text")
            else:
                uses.append(tuple(_limits(source, lists[list_id]).items()))
        return self.draft.groups_of(uses, lambda limits: self.group(dict(limits), item))

    def group(self, limits: Part, item: Node) -> str:
        source = self.parts[limits["ref"]]
        options, name = list(self.options(source, item)), _name(item)
        return self.draft.add_group(source.place, name=_name(source), options=options, item=name, **limits)

    def options(self, source: Node, item: Node) -> Iterator[Part]:
        for one in _kept(_data(source).each("modifiers")):
            name, price = _name(one), _price(one, otherwise=0)
            if price is None:
                self.draft.leave_out(one.place, name, "its price differs by location")
            else:
                as_it_is = dict.fromkeys(_data(one).texts("child_modifier_list_ids"), Node({}))
                groups = self.groups(as_it_is, item)
                yield {"name": name, "ref": one.text("id"), "price": price, "option_groups": groups}
