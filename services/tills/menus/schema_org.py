"""Menus of schema.org, as JSON-LD: of a restaurant with `hasMenu`, or a Menu alone.

An item with several offers has them as sizes, by their names; `menuAddOn` is a group of options.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from schemas.menu import Item, Option, OptionGroup
from services.tills.menus.imported import Draft, Given, ImportedMenu
from services.tills.menus.source import Source

IGNORED = frozenset(
    "@context url telephone address geo openingHours servesCuisine priceRange inLanguage".split()
)


def _listed(value: Any) -> Any:
    """JSON-LD writes one value without its list."""
    return value if isinstance(value, list | tuple) else [value]


class Thing(Source):
    id: str = Field("", validation_alias="@id")
    type: Annotated[tuple[str, ...], BeforeValidator(_listed)] = Field((), validation_alias="@type")
    name: str = ""
    description: str = ""
    image: Annotated[tuple[str | Thing, ...], BeforeValidator(_listed)] = ()
    url: str = ""


class Offer(Thing):
    price: Decimal | None = None
    currency: str = Field("", validation_alias="priceCurrency")


class Entry(Thing):
    """A restaurant, a menu, a section or an item."""

    menus: Annotated[tuple[Entry | str, ...], BeforeValidator(_listed)] = Field(
        (), validation_alias="hasMenu"
    )
    sections: Annotated[tuple[Entry, ...], BeforeValidator(_listed)] = Field(
        (), validation_alias="hasMenuSection"
    )
    items: Annotated[tuple[Entry, ...], BeforeValidator(_listed)] = Field((), validation_alias="hasMenuItem")
    add_ons: Annotated[tuple[Entry, ...], BeforeValidator(_listed)] = Field((), validation_alias="menuAddOn")
    offers: Annotated[tuple[Offer, ...], BeforeValidator(_listed)] = ()
    diets: Annotated[tuple[str, ...], BeforeValidator(_listed)] = Field(
        (), validation_alias="suitableForDiet"
    )
    graph: tuple[Entry, ...] = Field((), validation_alias="@graph")

    def inside(self) -> list[Entry]:
        below = (*self.graph, *(menu for menu in self.menus if isinstance(menu, Entry)))
        return [*below, *self.sections]

    def all_items(self, category: str = "") -> Iterator[tuple[str, Entry]]:
        """(category, item) of everything in it."""
        yield from ((category, item) for item in self.items)
        for part in self.inside():
            yield from part.all_items(part.name if part in self.sections else category)

    def priced(self) -> list[Offer]:
        """The offers with a price; none if there are several that names don't tell apart."""
        found = [offer for offer in self.offers if offer.price is not None]
        names = {offer.name for offer in found} - {""}
        return found if len(found) == 1 or len(names) == len(found) else []


def read(document: object, given: Given) -> ImportedMenu:
    """Raises InvalidMenu for a document that isn't of this shape."""
    whole = Entry.read({"@graph": document} if isinstance(document, list) else document)
    sold = list(whole.all_items())
    named = next((part for part in (whole, *whole.inside()) if part.name), whole)
    currencies = (offer.currency for _, item in sold for offer in item.offers if offer.currency)
    reader = _Reader(
        Draft(given, name=named.name or "Menu", currency=next(currencies, ""), ref=named.id or None)
    )
    for category, item in sold:
        reader.add_item(category, item)
    reader.draft.lack_fields(document, Entry, IGNORED)
    return reader.draft.finish()


@dataclass(slots=True)
class _Reader:
    draft: Draft

    def add_item(self, category: str, item: Entry) -> None:
        place = f"the item “{item.name}”"
        priced = item.priced()
        if not priced:
            return self.draft.lack(place, "is left out: it has no price, or several without names")
        prices = [self.draft.minor(offer.price or 0, place) for offer in priced]
        sizes = [self.draft.size(offer.name) for offer in priced] if len(priced) > 1 else []
        groups = [self.draft.add_group(self.group(item, place), place, item.name)] if item.add_ons else []
        made = Item.model_construct(
            sku="",
            name=item.name,
            category=category or "other",
            description=item.description,
            image=next((one if isinstance(one, str) else one.url for one in item.image), None),
            diet=tuple(_diet(diet) for diet in item.diets),
            price=None if sizes else prices[0],
            prices=dict(zip(sizes, prices, strict=True)) if sizes else None,
            option_groups=tuple(group.id for group in groups),
            ref=item.id or None,
        )
        self.draft.add_item(made, place)

    def group(self, item: Entry, place: str) -> OptionGroup:
        """What can be added to an item, from sections or one by one."""
        entries = [
            e for add_on in item.add_ons for e in (add_on, *(inner for _, inner in add_on.all_items()))
        ]
        options = [
            Option.model_construct(
                id="", name=e.name, price=self.draft.minor(e.offers[0].price or 0, place), ref=e.id or None
            )
            for e in entries
            if e.offers
        ]
        return OptionGroup.model_construct(id="", name="add-ons", min=0, options=tuple(options))


def _diet(name: str) -> str:
    """`gluten free` for `https://schema.org/GlutenFreeDiet`."""
    words = re.sub(r"(?<!^)(?=[A-Z])", " ", name.rpartition("/")[2].removesuffix("Diet"))
    return words.lower()
