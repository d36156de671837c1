"""Schema.org menus as JSON-LD: a Menu, or a restaurant with `hasMenu`.

Several offers of an item become sizes, named like the offers; `menuAddOn` becomes an option group.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

from services.tills.menus.draft import Draft, new_option
from services.tills.menus.imported import ImportedMenu, Overrides
from services.tills.menus.source import Node

IGNORED = frozenset(
    "@context @type url telephone address geo openingHours servesCuisine priceRange inLanguage".split()
)


def read(document: object, overrides: Overrides) -> ImportedMenu:
    """Convert the document; raises InvalidMenu if it has another shape."""
    source = Node(document)
    things = _listed(source, "")
    items = [item for thing in things for item in _items(thing)]
    named = [part for thing in things for part in (thing, *_nested(thing)) if part.text("name")]
    top = (named or things)[0]
    currencies = (offer.text("priceCurrency") for _, item in items for offer in _listed(item, "offers"))
    fields = {
        "name": top.text("name"),
        "ref": top.text("@id"),
        "currency": next(filter(None, currencies), ""),
    }
    draft = Draft(source, overrides.applied_to(fields, "Menu"))
    for category, item in items:
        _add_item(draft, category, item)
    return draft.finish(IGNORED)


def _listed(part: Node, path: str) -> list[Node]:
    """Return the values of a field. In JSON-LD, a single value needs no list."""
    node = part.at(path)
    return node.each() if isinstance(node.value, list | None) else [node]


def _nested(part: Node) -> list[Node]:
    """Return the things and menus within a thing; a URL is a menu on another page."""
    nested = [*_listed(part, "@graph"), *_listed(part, "hasMenu")]
    return [one for one in nested if isinstance(one.value, dict)]


def _items(part: Node, category: str = "") -> Iterator[tuple[str, Node]]:
    """Yield (category, item) for all items of a restaurant, menu or section."""
    yield from ((category, item) for item in _listed(part, "hasMenuItem"))
    for nested in _nested(part):
        yield from _items(nested, category)
    for section in _listed(part, "hasMenuSection"):
        yield from _items(section, section.text("name"))


def _add_item(draft: Draft, category: str, item: Node) -> None:
    name = item.text("name")
    offers = _offers(item)
    if not offers:
        why = "it has no price, or several without names"
        return draft.skip(item.place, f"“{name}” is left out: {why}")
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
    """Add a group for an item's add-ons, which may be in sections, and return its id."""
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
    """Return (name, price) of each priced offer; empty if there are several without distinct names."""
    offers = [(offer.text("name"), offer.amount("price")) for offer in _listed(part, "offers")]
    priced = [(name, price) for name, price in offers if price is not None]
    if len(priced) == 1:
        return [("", priced[0][1])]
    return priced if len({name for name, _ in priced} - {""}) == len(priced) else []


def _diet(name: str) -> str:
    """Return `gluten free` for `https://schema.org/GlutenFreeDiet`."""
    words = re.sub(r"(?<!^)(?=[A-Z])", " ", name.rpartition("/")[2].removesuffix("Diet"))
    return words.lower()
