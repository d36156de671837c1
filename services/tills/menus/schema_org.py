"""Menus of schema.org, as JSON-LD: of a restaurant with `hasMenu`, or a Menu alone.

An item with several offers has them as sizes, by their names; `menuAddOn` is a group of options.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

from services.tills.menus.imported import Draft, Given, ImportedMenu, new_option
from services.tills.menus.source import Node

IGNORED = frozenset(
    "@context @type url telephone address geo openingHours servesCuisine priceRange inLanguage".split()
)


def read(document: object, given: Given) -> ImportedMenu:
    """Raises InvalidMenu for a document that isn't of this shape."""
    whole = Node(document)
    things = _listed(whole, "")
    sold = [found for thing in things for found in _items(thing)]
    named = [part for thing in things for part in (thing, *_inside(thing)) if part.text("name")]
    top = (named or things)[0]
    currencies = (offer.text("priceCurrency") for _, item in sold for offer in _listed(item, "offers"))
    fields = {
        "name": top.text("name"),
        "ref": top.text("@id"),
        "currency": next(filter(None, currencies), ""),
    }
    draft = Draft(whole, given.over(fields, "Menu"))
    for category, item in sold:
        _add_item(draft, category, item)
    return draft.finish(IGNORED)


def _listed(part: Node, path: str) -> list[Node]:
    """The values of a field; JSON-LD writes one without its list."""
    found = part.at(path)
    return found.each() if isinstance(found.value, list | None) else [found]


def _inside(part: Node) -> list[Node]:
    """What a thing holds but for sections; a menu that is elsewhere is a URL."""
    below = [*_listed(part, "@graph"), *_listed(part, "hasMenu")]
    return [one for one in below if isinstance(one.value, dict)]


def _items(part: Node, category: str = "") -> Iterator[tuple[str, Node]]:
    """(category, item) of everything in a restaurant, a menu or a section."""
    yield from ((category, item) for item in _listed(part, "hasMenuItem"))
    for below in _inside(part):
        yield from _items(below, category)
    for section in _listed(part, "hasMenuSection"):
        yield from _items(section, section.text("name"))


def _add_item(draft: Draft, category: str, item: Node) -> None:
    name = item.text("name")
    offers = _offers(item)
    if not offers:
        why = "it has no price, or several without names"
        return draft.lack(item.place, f"“{name}” is left out: {why}")
    images = [one.at("url") if isinstance(one.value, dict) else one for one in _listed(item, "image")]
    draft.add_item(
        item.place,
        name=name,
        ref=item.text("@id"),
        category=category,
        description=item.text("description"),
        image=images[0].text() if images else "",
        diet=tuple(_diet(one.text()) for one in _listed(item, "suitableForDiet")),
        option_groups=_add_ons(draft, item),
        **draft.priced([(size, draft.minor(price, item.place), "") for size, price in offers]),
    )


def _add_ons(draft: Draft, item: Node) -> tuple[str, ...]:
    """The group of what can be added to an item, from sections or one by one."""
    add_ons = [
        one for top in _listed(item, "menuAddOn") for one in (top, *(inner for _, inner in _items(top)))
    ]
    options = [
        new_option(name=one.text("name"), ref=one.text("@id"), price=draft.minor(price, one.place))
        for one in add_ons
        for _, price in _offers(one)[:1]
    ]
    if not options:
        return ()
    return (draft.add_group(item.place, name="add-ons", options=options, item=item.text("name")).id,)


def _offers(part: Node) -> list[tuple[str, Decimal]]:
    """(name, price) of the offers with a price; none if there are several that names don't tell apart."""
    offers = [(offer.text("name"), offer.amount("price")) for offer in _listed(part, "offers")]
    found = [(name, price) for name, price in offers if price is not None]
    if len(found) == 1:
        return [("", found[0][1])]
    return found if len({name for name, _ in found} - {""}) == len(found) else []


def _diet(name: str) -> str:
    """`gluten free` for `https://schema.org/GlutenFreeDiet`."""
    words = re.sub(r"(?<!^)(?=[A-Z])", " ", name.rpartition("/")[2].removesuffix("Diet"))
    return words.lower()
