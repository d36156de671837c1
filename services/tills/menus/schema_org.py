"""Schema.org menus as JSON-LD: a Menu, or a restaurant with `hasMenu`.

Several offers of an item become sizes, named like the offers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from services.tills.menus.draft import Draft, Offer
from services.tills.menus.source import ImportedMenu, Node, Overrides

IGNORED = frozenset(
    """@context @type url telephone address geo openingHours servesCuisine priceRange inLanguage
    priceCurrency""".split()
)


def read(document: object, overrides: Overrides) -> ImportedMenu:
    """Convert the document; raises InvalidMenu if it has another shape."""
    source = Node(document)
    things = _listed(source, "")
    items = [item for thing in things for item in _items(thing)]
    parts = [part for thing in things for part in (thing, *_nested(thing))]
    top = next((part for part in parts if part.text("name")), parts[0])
    currencies = (offer.text("priceCurrency") for _, item in items for offer in _listed(item, "offers"))
    fields = {
        "name": top.text("name"),
        "ref": top.text("@id"),
        "currency": next(filter(None, currencies), ""),
    }
    draft = Draft(source, overrides.applied_to(fields, "Menu"))
    for section, item in items:
        _add_item(draft, section.text("name") if section else "", item)
    return draft.finish(IGNORED)


def _listed(part: Node, path: str) -> list[Node]:
    """Return the values of a field. In JSON-LD, a single value needs no list."""
    node = part.at(path)
    return node.each() if isinstance(node.value, list | None) else [node]


def _nested(part: Node) -> list[Node]:
    """Return the things and menus within a thing; a URL is a menu on another page."""
    nested = [*_listed(part, "@graph"), *_listed(part, "hasMenu")]
    return [one for one in nested if isinstance(one.value, dict)]


def _items(part: Node, section: Node | None = None) -> Iterator[tuple[Node | None, Node]]:
    """Yield (section, item) for all items of a restaurant, menu or section."""
    yield from ((section, item) for item in _listed(part, "hasMenuItem"))
    for nested in _nested(part):
        yield from _items(nested, section)
    for inner in _listed(part, "hasMenuSection"):
        yield from _items(inner, inner)


def _add_item(draft: Draft, category: str, item: Node) -> None:
    name, offers = item.text("name"), _offers(draft, item)
    if not offers:
        return draft.leave_out(item.place, name, "it has no price, or several without names")
    images = [one.at("url") if isinstance(one.value, dict) else one for one in _listed(item, "image")]
    draft.add_item(
        item.place,
        name=name,
        ref=item.text("@id"),
        category=category,
        description=item.text("description"),
        image=images[0].text() if images else "",
        diet=tuple(_diet(one.text()) for one in _listed(item, "suitableForDiet")),
        offers=offers,
    )


def _offers(draft: Draft, item: Node) -> list[Offer]:
    """Return (name, price, "") of each priced offer; empty if there are several without distinct names."""
    listed = [(offer, offer.amount("price")) for offer in _listed(item, "offers")]
    priced = [(offer, draft.minor(price, item.place)) for offer, price in listed if price is not None]
    if len(priced) == 1:
        return [("", priced[0][1], "")]
    by_name = {offer.text("name"): price for offer, price in priced}
    named = "" not in by_name and len(by_name) == len(priced)
    return [(name, price, "") for name, price in by_name.items()] if named else []


def _diet(name: str) -> str:
    """Return `gluten free` for `https://schema.org/GlutenFreeDiet`."""
    words = re.sub(r"(?<!^)(?=[A-Z])", " ", name.rpartition("/")[2].removesuffix("Diet"))
    return words.lower()
