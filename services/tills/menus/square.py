"""Square catalogs: the answer of ListCatalog, SearchCatalogObjects or BatchRetrieveCatalogObjects.

A variation is a size, and its id the `size_ref`; an item with one variation has its id as `ref`, since orders
name variations. Square charges for modifiers that are on by default, so those with a price are no defaults.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import AliasChoices, AliasPath, Field

from schemas.menu import Item, Option, OptionGroup, spoken_key
from schemas.menus.parts import OptionOverride
from services.tills.menus.imported import Draft, Given, ImportedMenu
from services.tills.menus.source import Source, at

# Square's own bookkeeping, and how things look on its screens.
IGNORED = frozenset(
    """updated_at created_at version present_at_all_locations present_at_location_ids absent_at_location_ids
    catalog_v1_ids id_mappings cursor label_color abbreviation description_html description_plaintext ordinal
    available_online available_for_pickup available_electronically product_type skip_modifier_screen item_id
    modifier_list_id is_taxable channels ecom_visibility category_type is_top_level sellable stockable
    applies_to_custom_amounts track_inventory pricing_type buyer_facing""".split()
)
_DATA = tuple(
    f"{kind}_data" for kind in "item item_variation modifier_list modifier tax category image".split()
)
_TOGGLES = {"YES": True, "NO": False}


def of(name: str, *further: str, default: Any) -> Any:
    """A field of whichever `*_data` an object has."""
    paths = (AliasPath(data, name, *further) for data in _DATA)
    return Field(default, validation_alias=AliasChoices(*paths))


class Named(Source):
    """A reference to a category, or the name of a diet or an ingredient."""

    id: str = ""
    standard_name: str = ""
    custom_name: str = ""

    @property
    def food(self) -> str:
        return self.custom_name or self.standard_name.lower().replace("_", " ")


class AtLocation(Source):
    amount: int | None = at("price_money", "amount", default=None)


class ModifierOverride(Source):
    modifier_id: str
    on_by_default: bool | None = None
    on_by_default_override: str = ""


class ListInfo(Source):
    """How an item has a modifier list; -1 leaves a count to the list, and a `max` of 0 is none."""

    modifier_list_id: str
    modifier_overrides: tuple[ModifierOverride, ...] = ()
    min_selected_modifiers: int = -1
    max_selected_modifiers: int = -1
    allow_quantities: str = ""
    enabled: bool = True


class CatalogObject(Source):
    type: str
    id: str
    is_deleted: bool = False
    name: str = of("name", default="")
    amount: int | None = of("price_money", "amount", default=None)
    currency: str = of("price_money", "currency", default="")
    location_overrides: tuple[AtLocation, ...] = of("location_overrides", default=())
    # Of items.
    description: str = of("description", default="")
    category_id: str = of("category_id", default="")
    categories: tuple[Named, ...] = of("categories", default=())
    reporting_category: str = of("reporting_category", "id", default="")
    tax_ids: tuple[str, ...] = of("tax_ids", default=())
    image_ids: tuple[str, ...] = of("image_ids", default=())
    modifier_list_info: tuple[ListInfo, ...] = of("modifier_list_info", default=())
    variations: tuple[CatalogObject, ...] = of("variations", default=())
    diets: tuple[Named, ...] = of("food_and_beverage_details", "dietary_preferences", default=())
    ingredients: tuple[Named, ...] = of("food_and_beverage_details", "ingredients", default=())
    is_archived: bool = of("is_archived", default=False)
    # Of modifier lists and modifiers.
    selection_type: str = of("selection_type", default="")
    modifier_type: str = of("modifier_type", default="LIST")
    min_selected_modifiers: int = of("min_selected_modifiers", default=-1)
    max_selected_modifiers: int = of("max_selected_modifiers", default=-1)
    allow_quantities: bool | None = of("allow_quantities", default=None)
    modifiers: tuple[CatalogObject, ...] = of("modifiers", default=())
    on_by_default: bool = of("on_by_default", default=False)
    child_modifier_list_ids: tuple[str, ...] = of("child_modifier_list_ids", default=())
    # Of taxes and images.
    percentage: str = of("percentage", default="0")
    inclusion_type: str = of("inclusion_type", default="ADDITIVE")
    calculation_phase: str = of("calculation_phase", default="TAX_SUBTOTAL_PHASE")
    tax_enabled: bool = of("enabled", default=True)
    url: str = of("url", default="")

    def price(self, otherwise: int | None) -> int | None:
        """The price at every location; None where they differ."""
        differs = any(one.amount is not None for one in self.location_overrides)
        return None if differs else otherwise if self.amount is None else self.amount

    def sold(self) -> tuple[list[CatalogObject], list[int]]:
        """The variations of an item and their prices; none if it can't be sold at prices that are known."""
        sold = [variation for variation in self.variations if not variation.is_deleted]
        prices = [price for variation in sold if (price := variation.price(None)) is not None]
        unlike = {spoken_key(variation.name) for variation in sold}
        fit = not self.is_archived and len(prices) == len(sold) == len(unlike)
        return (sold, prices) if fit else ([], [])


class Catalog(Source):
    objects: tuple[CatalogObject, ...] = ()
    related_objects: tuple[CatalogObject, ...] = ()


def read(document: object, given: Given) -> ImportedMenu:
    """Raises InvalidMenu for a document that isn't of Square's shape."""
    catalog = Catalog.read(document)
    parts = [(f"/objects/{i}", part) for i, part in enumerate(catalog.objects)]
    parts += [(f"/related_objects/{i}", part) for i, part in enumerate(catalog.related_objects)]
    placed = {part.id: (place, part) for place, part in parts if not part.is_deleted}
    variations = [variation for _, part in placed.values() for variation in part.variations]
    currency = next((variation.currency for variation in variations if variation.currency), "")
    reader = _Reader(placed, Draft(given, name="Square menu", currency=currency))
    for place, part in placed.values():
        if part.type == "ITEM":
            reader.add_item(part, place)
    reader.draft.lack_fields(document, Catalog, IGNORED)
    return reader.draft.finish()


@dataclass(slots=True)
class _Reader:
    placed: dict[str, tuple[str, CatalogObject]]
    draft: Draft
    groups: dict[tuple[str, int, int, bool], OptionGroup | None] = field(default_factory=dict)
    """By list, counts, and whether each modifier may be had once."""

    def known(self, ids: Sequence[str]) -> list[CatalogObject]:
        return [self.placed[ref][1] for ref in dict.fromkeys(ids) if ref in self.placed]

    def add_item(self, item: CatalogObject, place: str) -> None:
        sold, prices = item.sold()
        if not sold:
            why = "it is archived, has no price that is fixed everywhere, or two variations of one name"
            return self.draft.lack(place, f"“{item.name}” is left out: {why}")
        sizes = [self.draft.size(variation.name) for variation in sold] if len(sold) > 1 else []
        if not sizes and spoken_key(sold[0].name) not in ("regular", "", spoken_key(item.name)):
            self.draft.lack(place, f"“{sold[0].name}”, the name of the only variation of “{item.name}”")
        groups, overrides = self.groups_of(item, place)
        made = Item.model_construct(
            sku="",
            name=item.name,
            category=self.category(item, place),
            description=item.description,
            image=next((image.url for image in self.known(item.image_ids)), None),
            allergens=tuple(one.food for one in item.ingredients),
            diet=tuple(one.food for one in item.diets),
            tax=self.tax(item, place),
            price=None if sizes else prices[0],
            prices=dict(zip(sizes, prices, strict=True)) if sizes else None,
            option_groups=tuple(dict.fromkeys(groups)),
            option_overrides=tuple(overrides),
            ref=item.id if sizes else sold[0].id,
            size_refs={size: variation.id for size, variation in zip(sizes, sold, strict=False)},
        )
        self.draft.add_item(made, place)

    def groups_of(self, item: CatalogObject, place: str) -> tuple[list[str], list[OptionOverride]]:
        """The ids of an item's groups, and what is by default on this item only."""
        groups: list[str] = []
        overrides: list[OptionOverride] = []
        for info in item.modifier_list_info:
            if info.enabled and (group := self.group(info, item.name)):
                groups.append(group.id)
                overrides += self.overrides(info, group, place)
        return groups, overrides

    def category(self, item: CatalogObject, place: str) -> str:
        ids = (item.reporting_category, *(one.id for one in item.categories), item.category_id)
        names = [category.name for category in self.known(ids)]
        if len(names) > 1:
            self.draft.lack(place, f"“{item.name}” is in one category only, {names[0]}")
        return names[0] if names else "other"

    def tax(self, item: CatalogObject, place: str) -> str | None:
        taxes = [tax for tax in self.known(item.tax_ids) if tax.tax_enabled]
        if len(taxes) > 1 or any(tax.calculation_phase != "TAX_SUBTOTAL_PHASE" for tax in taxes):
            self.draft.lack(place, f"“{item.name}” has its first tax only, on the price alone")
        if not taxes:
            return None
        included = taxes[0].inclusion_type == "INCLUSIVE"
        return self.draft.tax(taxes[0].percentage, included=included, name=taxes[0].name, ref=taxes[0].id)

    def group(self, info: ListInfo, item: str) -> OptionGroup | None:
        """The group of a modifier list with its counts on an item; None for one without options."""
        place, source = self.placed.get(info.modifier_list_id, ("/objects", None))
        if source is None or source.modifier_type == "TEXT":
            self.draft.lack(place, f"“{item}” takes a text, or options that the file doesn't have")
            return None
        least, most = info.min_selected_modifiers, info.max_selected_modifiers
        least = max(least if least >= 0 else source.min_selected_modifiers, 0)
        most = most if most >= 0 else source.max_selected_modifiers
        most = 1 if most < 0 and source.selection_type == "SINGLE" else max(most, 0)
        once = _TOGGLES.get(info.allow_quantities, source.allow_quantities) is False
        key = (source.id, least, most, once)
        if key not in self.groups:
            self.groups[key] = None  # inside itself
            group = OptionGroup.model_construct(
                id="",
                name=source.name,
                min=least,
                max=most or None,
                max_each=1 if once else None,
                defaults=tuple(modifier.id for modifier in source.modifiers if modifier.on_by_default),
                options=tuple(self.options(source.modifiers, place, item)),
                ref=source.id,
            )
            self.groups[key] = self.draft.add_group(group, place, item, charged=True)
        return self.groups[key]

    def options(self, modifiers: Sequence[CatalogObject], place: str, item: str) -> Iterator[Option]:
        for modifier in modifiers:
            price = modifier.price(0)
            if modifier.is_deleted or price is None:
                self.draft.lack(place, f"“{modifier.name}” is left out: its price differs by location")
                continue
            opened = (ListInfo(modifier_list_id=child) for child in modifier.child_modifier_list_ids)
            groups = tuple(group.id for info in opened if (group := self.group(info, item)))
            yield Option.model_construct(
                id="", name=modifier.name, price=price, option_groups=groups, ref=modifier.id
            )

    def overrides(self, info: ListInfo, group: OptionGroup, place: str) -> Iterator[OptionOverride]:
        """What is on by default on one item only, or isn't."""
        options = {option.ref: option for option in group.options}
        for one in info.modifier_overrides:
            option = options.get(one.modifier_id)
            default = _TOGGLES.get(one.on_by_default_override, one.on_by_default)
            if option is None or default is None or default == (option.id in group.defaults):
                continue
            if not default or self.draft.is_free(option, place):
                yield OptionOverride.model_construct(group=group.id, option=option.id, default=default)
