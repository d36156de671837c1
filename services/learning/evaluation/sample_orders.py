"""Orders generated from a menu's own names, with their carts: a test of a menu before customers use it."""

from __future__ import annotations

from random import Random
from typing import Any

from schemas.menu import Item, Menu

Row = dict[str, Any]
_WORDS = {
    "en": (("one", "two", "three"), "{} {} please", "with", "and"),
    "es": (("un", "dos", "tres"), "{} {} por favor", "con", "y"),
}
MAX_OPTIONS = 2  # of an order, unless the menu requires more


def sample_orders(menu: Menu, count: int) -> list[Row]:
    """Return `count` gold rows of one line each, cycling through all items; the same for the same menu."""
    rng = Random(0)  # noqa: S311 - the same orders each time
    items = [item for item in menu.items if item.available]
    rng.shuffle(items)
    return [_order(f"try-{n + 1}", items[n % len(items)], menu, rng) for n in range(count if items else 0)]


def _order(name: str, item: Item, menu: Menu, rng: Random) -> Row:
    counts, sentence, with_, and_ = _WORDS.get(menu.language[:2], _WORDS["en"])
    quantity = rng.randint(1, len(counts))
    size = menu.size(rng.choice(item.size_ids)) if item.size_ids else None
    options = _options(item, menu, rng)
    words = [size.name] if size else []
    words.append(_plural(item.name) if quantity > 1 and menu.language.startswith("en") else item.name)
    words += [with_, f" {and_} ".join(option["name"] for option in options)] if options else []
    chosen = [{"group": option["group"], "id": option["id"]} for option in options]
    line = {"sku": item.sku, "quantity": quantity, "size": size.id if size else None, "options": chosen}
    utterance = sentence.format(counts[quantity - 1], " ".join(words))
    return {"id": name, "utterance": utterance, "cart": {"lines": [line]}}


def _options(item: Item, menu: Menu, rng: Random) -> list[dict[str, str]]:
    """Return the item's required options, and up to `MAX_OPTIONS` in all."""
    chosen: list[dict[str, str]] = []
    groups = [group for group in menu.groups_of(item) if ">" not in group.id]
    groups.sort(key=lambda group: (-group.least, rng.random()))
    for group in groups:
        free = [o for o in group.options if o.available and o.id not in group.defaults]
        count = 0 if group.defaults else group.least
        if not count and len(chosen) < rng.randint(1, MAX_OPTIONS):
            count = 1
        chosen += [
            {"group": group.id, "id": option.id, "name": option.name}
            for option in rng.sample(free, min(count, len(free)))
        ]
    return chosen


def _plural(name: str) -> str:
    if name.endswith("s") or not name[-1].isalpha():
        return name
    return f"{name}es" if name.endswith(("ch", "sh", "x")) else f"{name}s"
